#!/usr/bin/env python3
"""Trains the nets of head.bin in two stages; README.md says in which order what is run.

    python teach.py texts  FOLDER                    # public.jsonl.gz and what rules make, as tokens
    python teach.py first  FOLDER MEMBERS SECONDS    # start*.pt: a net for each member, from all of these
    python teach.py second FOLDER MEMBERS SECONDS    # net*.pt: with the labelled and the written pairs; scores.json

FOLDER has public.jsonl.gz (public.py) and labelled.jsonl (`cargo xtask eval grounding --pairs`). Members differ in their
seed. `scores.json` has for each labelled pair the score by nets that have seen no pair about the same result.
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


def texts(folder):
    rng, began = random.Random(3), time.time()
    rows = [json.loads(line) for line in gzip.open(folder / "public.jsonl.gz", "rt")]
    public = [(row["p"], row["h"], row["y"]) for row in rows if row["from"] != "snli" or rng.random() < 0.5]
    made = pairs(7, 120), records(8, 1100), perturbed(rng.sample(sorted({p for p, _, _ in public}), 50000), 1)
    save(folder / "first.npz", public + [row for part in made for row in part])
    # Some of both are seen again in the second stage.
    again = [*(row for part, count in zip(made, (14000, 18000, 14000)) for row in rng.sample(part, count)), *rng.sample(public, 20000)]
    save(folder / "again.npz", again)
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


def train(net, data, epochs, rate, size, seed, seconds, small_from=0.0, coarse_from=1.0, warm=0.06, say=None):
    """Until all epochs are done or the time is up; the rate falls with whichever is nearer."""
    torch.manual_seed(seed)
    rng, steps, step, began = np.random.default_rng(seed), epochs * math.ceil(len(data.lengths) / size), 0, time.time()
    optimiser = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=0.01)
    net.train()
    for epoch in range(epochs):
        total, count = torch.zeros((), device=nets.DEVICE), 0
        for _, ids, sides, mask, y, w in data.each(size, rng):
            done = max(step / steps, (time.time() - began) / seconds)
            if done >= 1:
                break
            net.small, net.coarse = done >= small_from, done >= coarse_from
            for group in optimiser.param_groups:
                group["lr"] = rate * min((done + 1e-3) / warm, 1 - done)
            with torch.autocast(nets.DEVICE, torch.bfloat16):
                logits = net(ids, sides, mask)
            loss = (F.binary_cross_entropy_with_logits(logits.float(), y * (1 - 2 * SMOOTH) + SMOOTH, reduction="none") * w).mean()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
            total += loss.detach()
            step, count = step + 1, count + 1
        if say and count:
            print(f"  {say} epoch {epoch + 1}: loss {total.item() / count:.4f}, {time.time() - began:.0f} s", flush=True)
    net.eval()
    net.small = net.coarse = True


def first(folder, member, seconds):
    torch.set_num_threads(4)
    torch.manual_seed(member)
    net, (encoded, labels) = nets.Net().to(nets.DEVICE), load(folder / "first.npz")
    train(net, nets.Batches(encoded, labels), 10, 1e-3, 512, member, seconds, 0.6, say=f"net {member}")
    torch.save(net.state_dict(), OUT / f"start{member}.pt")


@torch.no_grad()
def scores(net, encoded):
    net.eval()
    out = np.zeros(len(encoded))
    for group, ids, sides, mask, _, _ in nets.Batches(encoded).each(256):
        out[group] = net(ids, sides, mask).float().cpu().numpy()
    return out


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


def second(folder, member, fold, seconds):
    """From the weights of the first stage on, with what is labelled in the middle of other pairs. No fold: of all pairs."""
    torch.set_num_threads(1)
    rows, texts = labelled(folder), nets.Texts()
    folds = fold_of([row for row in rows if row["from"] != "written"])
    learnt = [row for row in rows if row["from"] == "written" or folds[row["group"]] != fold]
    own, seen = ([row for row in learnt if (row["from"] == "written") == wanted] for wanted in (True, False))
    rng, seed = random.Random(member), member
    as_pairs = lambda given: [(row["evidence"], row["claim"], int(row["supported"])) for row in given]
    encoded, labels, weights = [], [], []
    for data, weight in (
        (as_pairs(seen), 2.0), (as_pairs(own), 1.0), (crossed(seen, seed), 0.3), (parts(seen + own, seed), 0.3),
        ([(row["evidence"], row["evidence"], 1) for row in rng.sample(seen, len(seen) // 6)], 0.3),
    ):
        encoded += texts.pairs(data)
        labels += [y for _, _, y in data]
        weights += [weight] * len(data)
    again = list(zip(*load(folder / "again.npz")))
    again = rng.sample(again, min(len(again), 12000))
    encoded, labels, weights = encoded + [pair for pair, _ in again], labels + [y for _, y in again], weights + [0.4] * len(again)
    net = nets.Net().to(nets.DEVICE)
    net.load_state_dict(torch.load(folder / f"start{member}.pt", map_location=nets.DEVICE))
    net.dropout = 0.2
    train(net, nets.Batches(encoded, labels, weights), 4, 6e-4, 128, seed, seconds, coarse_from=0.5)
    if fold is None:
        torch.save(net.state_dict(), OUT / f"net{member}.pt")
        return {}
    asked = [row for row in rows if row["from"] != "written" and folds[row["group"]] == fold]
    found = scores(net, texts.pairs([(row["evidence"], row["claim"]) for row in asked]))
    return {row["id"]: round(float(score), 4) for row, score in zip(asked, found)}


def report(rows, found, name):
    def line(part):
        good, bad = ([found[row["id"]] for row in rows if row["from"] in part and row["carried"] and row["supported"] == y] for y in (True, False))
        good, bad = np.array(good), np.array(bad)
        area = float(np.mean((good[:, None] > bad[None]) + 0.5 * (good[:, None] == bad[None])))
        return f"{'+'.join(part)}: area {area:.3f}, {np.mean(good > np.quantile(bad, 0.95)):.3f} kept at .95 caught"
    print(name, *(line(part) for part in (["tune"], ["a"], ["b"], ["tune", "a", "b"])), sep="; ", flush=True)


def main():
    stage, folder, *rest = sys.argv[1:]
    folder, began = pathlib.Path(folder), time.time()
    if stage == "texts":
        return texts(folder)
    members, count = [int(member) for member in rest[0].split(",")], int(rest[1])
    with concurrent.futures.ProcessPoolExecutor(16, multiprocessing.get_context("spawn")) as pool:
        if stage == "first":
            for job in [pool.submit(first, folder, member, count) for member in members]:
                job.result()
            return print(f"{time.time() - began:.0f} s")
        jobs = {pool.submit(second, folder, member, fold, count): member for fold in (None, *range(FOLDS)) for member in members}
        found, rows = {}, [row for row in labelled(folder) if row["from"] != "written"]
        for job in concurrent.futures.as_completed(jobs):
            found.setdefault(jobs[job], {}).update(job.result())
    for member in members:
        report(rows, found[member], f"net {member}")
    found["mean"] = {row["id"]: float(np.mean([found[member][row["id"]] for member in members])) for row in rows}
    report(rows, found["mean"], "mean")
    (OUT / "scores.json").write_text(json.dumps(found))
    print(f"{time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
