#!/usr/bin/env python3
"""Trains the net of head.bin.zst, in stages; README.md says in which order what is run.

    python teach.py texts  FOLDER           # public.jsonl.gz and what rules make, as tokens
    python teach.py first  FOLDER SECONDS   # first.npz: from all of these
    python teach.py second FOLDER SECONDS   # second.npz: from the written pairs
    python teach.py third  FOLDER SECONDS   # third.npz: the same again, in small integers from the start
    python teach.py last   FOLDER SECONDS   # net.npz: with the labelled pairs; scores.json

FOLDER has base.npz and words.npz (base.py), public.jsonl.gz (public.py) and labelled.jsonl (`cargo xtask eval grounding
--pairs`). `scores.json` has for each labelled pair the score by a net that has seen no pair about the same result.
"""

import concurrent.futures
import gzip
import json
import math
import multiprocessing
import os
import pathlib
import random
import re
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

import nets
from pairs import pairs, perturbed
from records import pairs as records

# Where a run leaves what it made.
OUT = pathlib.Path(os.environ.get("OUT", "."))
# Nobody is surer than this of any label.
SMOOTH = 0.03
FOLDS = 3
# Labelled by hand. What is of `c` is not learnt from: it is what the others are judged by.
BY_HAND, JUDGED_BY = ("tune", "a", "b"), "c"
# What is new beside the model that it starts from learns faster.
NEW = ("asked", "offered", "given", "own", "compared", "compared_bias", "first", "first_bias", "last", "last_bias", "side")


def texts(folder):
    rng, began = random.Random(3), time.time()
    rows = [json.loads(line) for line in gzip.open(folder / "public.jsonl.gz", "rt")]
    public = [(row["p"], row["h"], row["y"]) for row in rows if row["from"] != "snli" or rng.random() < 0.5]
    made = pairs(7, 120), records(8, 1100), perturbed(rng.sample(sorted({p for p, _, _ in public}), 50000), 1)
    save(folder / "first-texts.npz", public + [row for part in made for row in part])
    # Some of both are seen again in the second stage.
    again = [*(row for part, count in zip(made, (14000, 18000, 14000)) for row in rng.sample(part, count)), *rng.sample(public, 20000)]
    save(folder / "again-texts.npz", again)
    print(len(public), *(len(part) for part in made), f"{time.time() - began:.0f} s")


def save(path, rows):
    encoded = nets.Texts().pairs(rows)
    flat = np.concatenate([np.array(evidence + claim, np.uint16) for evidence, claim in encoded])
    sizes = np.array([(len(evidence), len(claim)) for evidence, claim in encoded], np.uint8)
    np.savez_compressed(path, flat=flat, sizes=sizes, labels=np.array([y for _, _, y in rows], np.uint8))


def load(path):
    file = np.load(path)
    sizes, flat = file["sizes"].astype(np.int64), file["flat"]
    ends = np.cumsum(sizes.sum(1))
    encoded = [(flat[end - e - c : end - c].tolist(), flat[end - c : end].tolist()) for end, (e, c) in zip(ends.tolist(), sizes.tolist())]
    return encoded, file["labels"].tolist()


def train(net, data, epochs, rate, size, seconds, small_from=2.0, coarse_from=2.0, warm=0.06, say=""):
    """Until all epochs are done or the time is up; the rate falls with whichever is nearer."""
    rng, steps, step, began = np.random.default_rng(1), epochs * math.ceil(len(data.lengths) / size), 0, time.time()
    groups = [
        {"params": [values for name, values in net.named_parameters() if (name in NEW) == new], "times": times}
        for new, times in ((True, 5.0), (False, 1.0))
    ]
    optimiser = torch.optim.AdamW(groups, lr=rate, weight_decay=0.01, fused=True)
    net.train()
    for epoch in range(epochs):
        total, count = torch.zeros((), device=nets.DEVICE), 0
        for _, ids, sides, mask, y, w in data.each(size, rng):
            done = max(step / steps, (time.time() - began) / seconds)
            if done >= 1:
                break
            net.small, net.coarse = done >= small_from, done >= coarse_from
            for group in optimiser.param_groups:
                group["lr"] = rate * group["times"] * min((done + 1e-3) / warm, 1 - done)
            with torch.autocast(nets.DEVICE, torch.bfloat16):
                logits = net(ids, sides, mask)
            loss = (F.binary_cross_entropy_with_logits(logits.float(), y * (1 - 2 * SMOOTH) + SMOOTH, reduction="none") * w).mean()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
            total += loss.detach()
            step, count = step + 1, count + 1
        if count:
            print(f"  {say} epoch {epoch + 1}: loss {total.item() / count:.4f}, {time.time() - began:.0f} s", flush=True)
    net.eval()
    net.small = net.coarse = True


def net_of(folder, stage=None):
    torch.manual_seed(1)
    net = nets.Net(folder)
    if stage:
        net.load_state_dict(nets.read(folder / stage))
    return net.to(nets.DEVICE)


def labelled(folder):
    """Claims with numbers and dates spelled as in their evidence. Those from `written` were written for this."""
    return [json.loads(line) for line in (folder / "labelled.jsonl").read_text().splitlines()]


def crossed(rows, seed):
    """A claim with the evidence of another claim about the same result: it hardly ever follows."""
    rng, by, out = random.Random(seed), {}, []
    for row in rows:
        by.setdefault(row["group"], []).append(row)
    for group in by.values():
        for row in group:
            others = [o for o in group if row["supported"] and o["evidence"] not in row["evidence"] and row["evidence"] not in o["evidence"]]
            out += [(other["evidence"], row["claim"], 0) for other in rng.sample(others, min(2, len(others)))]
    return out


LIMITS = re.compile(r"\b(it|they|he|she|this|that|these|if|unless|except|only|but|so|however|therefore)\b", re.I)


def parts(rows, seed):
    """Parts of the evidence follow from it; with two nouns exchanged they do not."""
    good, whole = [], []
    for shown in sorted({row["evidence"] for row in rows if '":' not in row["evidence"]}):
        sentences = [part.strip() for part in re.split(r"(?<=[.;!?])\s+|\\n", shown) if len(part.split()) >= 4]
        whole += sentences
        if len(sentences) > 1:
            good += [(shown, part.rstrip(";") + ("" if part[-1] in ".!?" else "."), 1) for part in sentences if not LIMITS.search(part)]
        begun = re.match(r"(.{20,}?)[;,] (?:and|but|while|although|though) (.{15,})$", shown)
        if begun and not LIMITS.search(begun[1]):
            good.append((shown, begun[1] + ".", 1))
    return good + perturbed(whole, seed)


def fold_of(rows):
    groups = sorted({row["group"] for row in rows})
    random.Random(5).shuffle(groups)
    return {group: at % FOLDS for at, group in enumerate(groups)}


def as_pairs(rows):
    return [(row["evidence"], row["claim"], int(row["supported"])) for row in rows]


def batches(*weighed, more=()):
    texts, encoded, labels, weights = nets.Texts(), [], [], []
    for data, weight in weighed:
        encoded += texts.pairs(data)
        labels += [y for _, _, y in data]
        weights += [weight] * len(data)
    encoded += [pair for pair, _ in more]
    labels += [label for _, label in more]
    return nets.Batches(encoded, labels, weights + [0.4] * len(more))


def first(folder, seconds):
    net = net_of(folder)
    train(net, nets.Batches(*load(folder / "first-texts.npz")), 4, 2.5e-4, 256, seconds, say="first")
    nets.save(net, OUT / "first.npz")


def from_written(folder, seconds, net, epochs, rate, again, small_from, coarse_from, say):
    """Summaries first of all: they are what will be asked about."""
    own = [row for row in labelled(folder) if row["from"] == "written"]
    summaries, others = ([row for row in own if row["id"].startswith("summaries") == wanted] for wanted in (True, False))
    again = random.Random(1).sample(list(zip(*load(folder / "again-texts.npz"))), again)
    data = batches((as_pairs(summaries), 1.5), (as_pairs(others), 1.0), (parts(own, 1)[:20000], 0.3), more=again)
    train(net, data, epochs, rate, 128, seconds, small_from, coarse_from, say=say)
    nets.save(net, OUT / f"{say}.npz")


def second(folder, seconds):
    from_written(folder, seconds, net_of(folder, "first.npz"), 7, 1.5e-4, 20000, 0.2, 0.6, "second")


def third(folder, seconds):
    from_written(folder, seconds, net_of(folder, "second.npz"), 6, 1e-4, 12000, 0.0, 0.3, "third")


def last(folder, fold, seconds):
    """No fold: from all of the labelled pairs."""
    torch.set_num_threads(3)
    rows = labelled(folder)
    folds = fold_of([row for row in rows if row["from"] in BY_HAND])
    seen = [row for row in rows if row["from"] in BY_HAND and folds[row["group"]] != fold]
    own = [row for row in rows if row["from"] == "written"]
    own = random.Random(4).sample(own, min(len(own), 12000))
    net = net_of(folder, "third.npz")
    data = batches((as_pairs(seen), 2.0), (as_pairs(own), 1.0), (crossed(seen, 1), 0.3))
    train(net, data, 3, 5e-5, 128, seconds, 0.0, 0.0, say=f"last {fold}")
    if fold is None:
        nets.save(net, OUT / "net.npz")
    asked = [row for row in rows if (row["from"] == JUDGED_BY if fold is None else folds.get(row["group"]) == fold)]
    found = scores(net, nets.Texts().pairs([(row["evidence"], row["claim"]) for row in asked]))
    return {row["id"]: round(float(score), 4) for row, score in zip(asked, found)}


@torch.no_grad()
def scores(net, encoded):
    out = np.zeros(len(encoded))
    for group, ids, sides, mask, _, _ in nets.Batches(encoded).each(256):
        out[group] = net(ids, sides, mask).float().cpu().numpy()
    return out


def report(rows, found):
    for name in (*BY_HAND, JUDGED_BY):
        good, bad = ([found[row["id"]] for row in rows if row["from"] == name and row["carried"] and row["supported"] == y] for y in (True, False))
        good, bad = np.array(good), np.array(bad)
        area = float(np.mean((good[:, None] > bad[None]) + 0.5 * (good[:, None] == bad[None])))
        print(f"{name}: area {area:.3f}, {np.mean(good > np.quantile(bad, 0.95)):.3f} kept at .95 caught", flush=True)


def main():
    stage, folder, *rest = sys.argv[1:]
    folder = pathlib.Path(folder)
    if stage == "texts":
        return texts(folder)
    seconds = int(rest[0])
    if stage != "last":
        return {"first": first, "second": second, "third": third}[stage](folder, seconds)
    found = {}
    with concurrent.futures.ProcessPoolExecutor(1 + FOLDS, multiprocessing.get_context("spawn")) as pool:
        for job in [pool.submit(last, folder, fold, seconds) for fold in (None, *range(FOLDS))]:
            found |= job.result()
    report(labelled(folder), found)
    (OUT / "scores.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
