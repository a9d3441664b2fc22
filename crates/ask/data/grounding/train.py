#!/usr/bin/env python3
"""Trains what the frozen sentence model lacks to tell whether a claim follows from its evidence; writes head.bin.

    pip install numpy torch tokenizers
    python train.py public.jsonl.gz OUT [--folds]

The model in the binary stays as it is. Behind each of its layer normalisations a small adapter is added (down, GELU, up),
to what comes out of the embeddings a vector that tells the claim from the evidence and what both have from what one has,
and at the end a classifier.
`public.jsonl.gz` has public entailment pairs, one {"p", "h", "y"} a line; `--folds` cross-validates instead: it writes
a score for each labelled pair by a model that has seen no pair about the same result.
"""

import argparse
import concurrent.futures
import gzip
import json
import math
import multiprocessing
import pathlib
import random
import re
import time

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from pairs import pairs, perturbed

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
MODEL = ROOT / "crates/index/data/all-minilm-l6-v2-int8"
WORDS, WIDTH, HEADS, LAYERS, TOKENS_MAX, CLAIM_MAX = 30522, 384, 12, 6, 256, 96
CLS, SEP = 101, 102
NARROW, HIDDEN = 64, 64
# Nobody is surer than this of any label.
SMOOTH = 0.03
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def plain(text):
    """As grounding/entailed.rs has it."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    text = text.replace("\\n", " ").replace("\\t", " ").replace("\\r", " ").replace('\\"', " ").replace("\\/", "/").replace("\\\\", "\\")
    return " ".join(text.replace('"', " ").replace("_", " ").split())


class Texts:
    def __init__(self):
        self.tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
        self.tokenizer.no_truncation(), self.tokenizer.no_padding()

    def ids(self, texts):
        return [found.ids for found in self.tokenizer.encode_batch([plain(text) for text in texts], add_special_tokens=False)]

    def pairs(self, rows):
        shown, claims = self.ids([row[0] for row in rows]), self.ids([row[1] for row in rows])
        out = []
        for evidence, claim in zip(shown, claims):
            claim = claim[:CLAIM_MAX]
            evidence = evidence[: TOKENS_MAX - 3 - len(claim)]
            here, there = set(claim), set(evidence)
            sides = [0, *(2 * (token in here) for token in evidence), 0, *(1 + 2 * (token in there) for token in claim), 1]
            out.append(([CLS, *evidence, SEP, *claim, SEP], sides))
        return out


def frozen_weights():
    """In the order of `make_model.py` beside them."""
    rest = memoryview((MODEL / "model.bin").read_bytes())

    def take(kind, *shape):
        nonlocal rest
        values = np.frombuffer(rest, kind, math.prod(shape))
        rest = rest[values.nbytes :]
        return values.reshape(shape).astype(np.float32)

    def norm():
        return take("<f4", WIDTH), take("<f4", WIDTH)

    def linear(rows, columns):
        return take("i1", rows, columns) * take("<f4", columns), take("<f4", columns)

    words, places = take("i1", WORDS, WIDTH) * take("<f4", WORDS, 1), take("<f4", TOKENS_MAX, WIDTH)
    norms, linears = [norm()], []
    for _ in range(LAYERS):
        weights, bias = linear(WIDTH, 3 * WIDTH)
        linears += zip(np.split(weights, 3, axis=1), np.split(bias, 3))
        linears.append(linear(WIDTH, WIDTH))
        norms.append(norm())
        linears += [linear(WIDTH, 4 * WIDTH), linear(4 * WIDTH, WIDTH)]
        norms.append(norm())
    assert not rest
    return words, places, norms, linears


class Net(torch.nn.Module):
    def __init__(self, narrow=NARROW):
        super().__init__()
        words, places, norms, linears = frozen_weights()
        keep = lambda name, value: self.register_buffer(name, torch.tensor(np.array(value)), persistent=False)
        keep("words", words), keep("places", places)
        for at, (gain, bias) in enumerate(norms):
            keep(f"gain{at}", gain), keep(f"shift{at}", bias)
        for at, (weight, bias) in enumerate(linears):
            keep(f"weight{at}", weight), keep(f"bias{at}", bias)
        P = torch.nn.Parameter
        self.side = P(torch.zeros(4, WIDTH))
        n = 2 * LAYERS
        self.down = P(torch.randn(n, WIDTH, narrow) * 0.02)
        self.down_bias = P(torch.zeros(n, narrow))
        self.up = P(torch.zeros(n, narrow, WIDTH))
        self.up_bias = P(torch.zeros(n, WIDTH))
        self.first = P(torch.randn(3 * WIDTH, HIDDEN) * 0.02)
        self.first_bias = P(torch.zeros(HIDDEN))
        self.last = P(torch.randn(HIDDEN, 1) * 0.1)
        self.last_bias = P(torch.zeros(1))
        self.noise, self.dropout = False, 0.1

    def quantised(self, x, mask):
        """What DynamicQuantizeLinear makes of one text, with the gradient of what it was given."""
        if not self.noise:
            return x
        with torch.no_grad():
            low = torch.where(mask, x, 0).amin((1, 2), keepdim=True).clamp(max=0)
            high = torch.where(mask, x, 0).amax((1, 2), keepdim=True).clamp(min=0)
            step = (high - low).clamp(min=1e-9) / 255
            off = (torch.round(x / step) * step).clamp(low, high) - x
        return x + off

    def linear(self, x, mask, at):
        return self.quantised(x, mask) @ getattr(self, f"weight{at}") + getattr(self, f"bias{at}")

    def norm(self, x, at):
        return F.layer_norm(x, (WIDTH,), getattr(self, f"gain{at}"), getattr(self, f"shift{at}"), 1e-12)

    def adapted(self, x, at):
        inner = F.gelu(x @ self.down[at] + self.down_bias[at])
        inner = F.dropout(inner, self.dropout, self.training)
        return x + inner @ self.up[at] + self.up_bias[at]

    def forward(self, ids, sides, mask):
        valid = mask[:, :, None]
        x = self.norm(self.words[ids] + self.places[: ids.shape[1]], 0) + self.side[sides]
        batch, length = ids.shape
        heads = lambda t: t.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
        for layer in range(LAYERS):
            at = 6 * layer
            q, k, v = (heads(self.linear(x, valid, at + n)) for n in range(3))
            attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
            attended = attended.transpose(1, 2).reshape(batch, length, WIDTH)
            x = self.adapted(self.norm(self.linear(attended, valid, at + 3) + x, 2 * layer + 1), 2 * layer)
            wide = F.gelu(self.linear(x, valid, at + 4))
            x = self.adapted(self.norm(self.linear(wide, valid, at + 5) + x, 2 * layer + 2), 2 * layer + 1)
        claim = ((sides % 2 == 1) & mask)[:, :, None]
        mean = torch.where(claim, x, 0).sum(1) / claim.sum(1)
        most = torch.where(claim, x, -1e4).amax(1)
        pooled = F.dropout(torch.cat([x[:, 0], mean, most], 1), self.dropout, self.training)
        return (torch.tanh(pooled @ self.first + self.first_bias) @ self.last + self.last_bias)[:, 0]


class Batches:
    """All of the texts on the device; those of like length together, so that little is padded."""

    def __init__(self, encoded, labels=None, weights=None):
        self.lengths = np.array([len(tokens) for tokens, _ in encoded])
        ids, sides = np.zeros((2, len(encoded), self.lengths.max()), np.int64)
        for at, (tokens, side) in enumerate(encoded):
            ids[at, : len(tokens)], sides[at, : len(tokens)] = tokens, side
        on = lambda values: torch.tensor(values).to(DEVICE)
        self.ids, self.sides, self.long = on(ids.astype(np.int32)), on(sides.astype(np.int8)), on(self.lengths)
        self.labels = on(np.array(labels if labels is not None else [0] * len(encoded), np.float32))
        self.weights = on(np.array(weights if weights is not None else [1] * len(encoded), np.float32))

    def each(self, size, rng=None):
        order = np.arange(len(self.lengths))
        if rng:
            order = rng.permutation(order)
            order = np.concatenate([part[np.argsort(self.lengths[part], kind="stable")] for part in np.array_split(order, max(1, len(order) // (size * 50)))])
        groups = [order[start : start + size] for start in range(0, len(order), size)]
        if rng:
            groups = [groups[at] for at in rng.permutation(len(groups))]
        for group in groups:
            length, rows = int(self.lengths[group].max()), torch.tensor(group).to(DEVICE)
            mask = torch.arange(length, device=DEVICE)[None] < self.long[rows][:, None]
            yield group, self.ids[rows][:, :length].long(), self.sides[rows][:, :length].long(), mask, self.labels[rows], self.weights[rows]


def train(net, encoded, labels, weights, epochs, rate, size, seed, warm=0.06):
    torch.manual_seed(seed)
    rng, data = np.random.default_rng(seed), Batches(encoded, labels, weights)
    steps, step = epochs * math.ceil(len(encoded) / size), 0
    optimiser = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=0.01)
    plan = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min((s + 1) / (warm * steps + 1), max(0.0, 1 - s / steps)))
    net.train()
    for epoch in range(epochs):
        total = torch.zeros((), device=DEVICE)
        for _, ids, sides, mask, y, w in data.each(size, rng):
            with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
                logits = net(ids, sides, mask)
            loss = (F.binary_cross_entropy_with_logits(logits.float(), y * (1 - 2 * SMOOTH) + SMOOTH, reduction="none") * w).mean()
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step(), plan.step()
            total += loss.detach()
            step += 1
        if len(encoded) > 50000:
            print(f"  epoch {epoch + 1}: loss {total.item() / (steps / epochs):.4f}", flush=True)
    net.eval()


@torch.no_grad()
def scores(net, encoded, size=256):
    net.eval()
    out = np.zeros(len(encoded))
    for group, ids, sides, mask, _, _ in Batches(encoded).each(size):
        out[group] = net(ids, sides, mask).float().cpu().numpy()
    return out


def labelled():
    """What `cargo xtask eval grounding --pairs` writes: claims with numbers and dates spelled as in their evidence."""
    return [json.loads(line) for line in (HERE / "labelled.jsonl").read_text().splitlines()]


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


def second(start, rows, texts, made, public, seed, epochs, rate):
    """From the weights of the first stage on, with the labelled pairs in the middle of others."""
    net = Net().to(DEVICE)
    net.load_state_dict(start)
    net.noise, net.dropout = True, 0.2
    rng = random.Random(seed)
    mixed, labels, weights = [], [], []
    for data, weight in (
        ([(row["evidence"], row["claim"], int(row["supported"])) for row in rows], 1.0),
        (crossed(rows, seed), 0.3), (rng.sample(made, min(len(made), 2 * len(rows))), 0.5), (rng.sample(public, min(len(public), len(rows))), 0.3),
        ([(row["evidence"], row["evidence"], 1) for row in rng.sample(rows, len(rows) // 12)], 0.3),
    ):
        mixed += data
        labels += [y for _, _, y in data]
        weights += [weight] * len(data)
    train(net, texts.pairs(mixed), labels, weights, epochs, rate, 64, seed)
    return net


def averaged(start, rows, texts, made, public, seeds, epochs, rate):
    """The mean of the weights of several that differ in what they saw when."""
    nets = [second(start, rows, texts, made, public, seed, epochs, rate) for seed in range(1, seeds + 1)]
    with torch.no_grad():
        for parts in zip(*(net.parameters() for net in nets)):
            parts[0].copy_(torch.stack(parts).mean(0))
    return nets[0]


def report(rows, found):
    for name in ("tune", "a", "b"):
        ours = [(row["supported"], score) for row, score in zip(rows, found) if row["from"] == name]
        good, bad = [s for y, s in ours if y], [s for y, s in ours if not y]
        best = max(((np.mean(np.array(good) > t) + np.mean(np.array(bad) <= t)) / 2, t) for t in np.linspace(-8, 8, 161))
        ninety = np.quantile(good, 0.08)
        print(f"    {name}: balanced {best[0]:.3f} at {best[1]:.1f}; with 92 % kept, {np.mean(np.array(bad) <= ninety):.3f} caught", flush=True)


def write(net, path):
    """Tables in the order of the module; each matrix has 8 bits and a scale for each column."""
    out = bytearray()
    with torch.no_grad():
        for name, value in net.named_parameters():
            value = value.float().cpu().numpy()
            for part in value if value.ndim == 3 else [value]:
                if name in ("down", "up", "first"):
                    scale = np.maximum(np.abs(part).max(0), 1e-12) / 127
                    out += scale.astype("<f4").tobytes() + np.round(part / scale).astype(np.int8).tobytes()
                else:
                    out += part.astype("<f4").tobytes()
    path.write_bytes(out)
    print(path, len(out))


def work(given, job):
    """One model of the second stage, in a process of its own: several keep a device busy."""
    kind, name, epochs, rate, start, public, made = job
    texts, rows = Texts(), labelled()
    fold = folds(rows)
    key = (lambda row: fold[row["group"]]) if kind == "grouped" else (lambda row: row["from"])
    net = averaged(torch.load(start, map_location=DEVICE), [row for row in rows if kind == "all" or key(row) != name], texts, made, public, given.seeds, epochs, rate)
    if kind == "all":
        torch.save(net.state_dict(), given.out / f"net_{epochs}_{rate}.pt")
        write(net, given.out / f"head_{epochs}_{rate}.bin")
        return {}
    net.noise = True
    out = [row for row in rows if key(row) == name]
    found = scores(net, texts.pairs([(row["evidence"], row["claim"]) for row in out]))
    return {row["id"]: round(float(score), 4) for row, score in zip(out, found)}


def folds(rows):
    groups = sorted({row["group"] for row in rows})
    random.Random(5).shuffle(groups)
    return {group: at % 5 for at, group in enumerate(groups)}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("public", type=pathlib.Path), options.add_argument("out", type=pathlib.Path)
    options.add_argument("--folds", action="store_true"), options.add_argument("--small", action="store_true")
    options.add_argument("--again", type=int, default=0), options.add_argument("--sets", action="store_true"), options.add_argument("--start", type=pathlib.Path), options.add_argument("--rounds", type=int, default=160)
    options.add_argument("--epochs", type=int, default=5), options.add_argument("--rate", type=float, default=1e-3)
    options.add_argument("--seeds", type=int, default=3), options.add_argument("--configs", default="5:0.0005"), options.add_argument("--processes", type=int, default=8)
    given = options.parse_args()
    texts, rows = Texts(), labelled()
    public = [(row["p"], row["h"], row["y"]) for row in map(json.loads, gzip.open(given.public, "rt"))]
    made = pairs(7, 2 if given.small else given.rounds)
    if given.small:
        public = random.Random(1).sample(public, 300)
        made = made[:300]
    print(len(public), "public,", len(made), "made,", len(rows), "labelled", flush=True)
    start = given.start
    if not start:
        torch.manual_seed(1)
        net = Net().to(DEVICE)
        print(sum(p.numel() for p in net.parameters()), "weights", flush=True)
        data = public + made
        began = time.time()
        train(net, texts.pairs(data), [y for _, _, y in data], [1.0] * len(data), given.epochs, given.rate, 256 if not given.small else 32, 1)
        start = given.out / "start.pt"
        torch.save(net.state_dict(), start)
        print(f"after the first stage, {time.time() - began:.0f} s", flush=True)
        report(rows, scores(net, texts.pairs([(row["evidence"], row["claim"]) for row in rows])))
    if given.again:
        net = Net().to(DEVICE)
        net.load_state_dict(torch.load(start, map_location=DEVICE))
        rng = random.Random(9)
        data = perturbed(rng.sample(sorted({p for p, _, _ in public}), min(len(public), 50000)), 1)
        print(len(data), "perturbed", flush=True)
        data += pairs(11, given.rounds) + rng.sample(public, min(len(public), 40000))
        began = time.time()
        train(net, texts.pairs(data), [y for _, _, y in data], [1.0] * len(data), given.again, 5e-4, 256, 2)
        print(f"after the second round, {time.time() - began:.0f} s", flush=True)
        start = given.out / "again.pt"
        torch.save(net.state_dict(), start)
        made += perturbed(rng.sample(sorted({p for p, _, _ in public}), min(len(public), 9000)), 3)
    rng = random.Random(3)
    made, public = rng.sample(made, min(len(made), 20000)), rng.sample(public, min(len(public), 20000))
    configs = [(int(epochs), float(rate)) for epochs, rate in (part.split(":") for part in given.configs.split(","))]
    jobs = [("all", None, *config, start, public, made) for config in configs]
    if given.folds:
        jobs += [(kind, name, *config, start, public, made) for config in configs for kind, names in (("grouped", range(5)), ("left out", ("tune", "a", "b") if given.sets else ())) for name in names]
    began, kept = time.time(), {}
    with concurrent.futures.ProcessPoolExecutor(given.processes, multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(work, given, job): job for job in jobs}
        for done in concurrent.futures.as_completed(running):
            kind, name, epochs, rate = running[done][:4]
            kept.setdefault(f"{kind}/{epochs}/{rate}", {}).update(done.result())
            (given.out / "scores.json").write_text(json.dumps(kept))
            print(f"{kind} {name} {epochs} {rate}: {time.time() - began:.0f} s", flush=True)
    for kind, found in kept.items():
        if len(found) == len(rows):
            print("==", kind, flush=True)
            report(rows, [found[row["id"]] for row in rows])


if __name__ == "__main__":
    main()
