"""The net of head.bin.zst: a transformer of twelve layers, an alignment of claim and evidence, a classifier.

A vector at each word tells the claim from the evidence and what both have from what one has. At the end each word of the
claim is held against those words of the evidence that it attends to. In the product weights are small integers and
activations bytes, and so they are here from some point of the training on.
"""

import math
import pathlib
import re

import numpy as np
import torch
import torch.nn.functional as F
import zstandard
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parents[4]
MODEL = ROOT / "crates/index/data/all-minilm-l6-v2-int8"
WORDS, WIDTH, HEADS, LAYERS, TOKENS_MAX, CLAIM_MAX = 30522, 384, 12, 12, 256, 96
CLS, SEP = 101, 102
# The same numbers as in grounding/entailment.rs.
HIDDEN, ALIGNED, LOOKS, COMPARED = 64, 128, 4, 64
# What is multiplied in a layer, under the names of the model that it starts from.
SOURCES = {
    "qkv": ["attention.self.query", "attention.self.key", "attention.self.value"],
    "o": ["attention.output.dense"],
    "wide": ["intermediate.dense"],
    "narrow": ["output.dense"],
}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def most_of(name):
    """Weights are -7 to 7, two thirds of them only -3 to 3; and how many of their means the greatest is."""
    return (3, 2.7) if name.startswith(("wide", "narrow")) else (7, 2.8)


def plain(text):
    """As grounding/entailment.rs has it."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    text = text.replace("\\n", " ").replace("\\t", " ").replace("\\r", " ").replace('\\"', " ").replace("\\/", "/").replace("\\\\", "\\")
    return " ".join(text.replace('"', " ").replace("_", " ").split())


def vocabulary():
    return zstandard.ZstdDecompressor().decompress((MODEL / "tokenizer.json.zst").read_bytes()).decode()


class Texts:
    """Pairs of texts as tokens."""

    def __init__(self):
        self.tokenizer = Tokenizer.from_str(vocabulary())
        self.tokenizer.no_truncation(), self.tokenizer.no_padding()

    def ids(self, texts):
        return [found.ids for found in self.tokenizer.encode_batch([plain(text) for text in texts], add_special_tokens=False)]

    def pairs(self, rows):
        shown, claims = self.ids([row[0] for row in rows]), self.ids([row[1] for row in rows])
        claims = [claim[:CLAIM_MAX] for claim in claims]
        return [(evidence[: TOKENS_MAX - 3 - len(claim)], claim) for evidence, claim in zip(shown, claims)]


class Batches:
    """All of the texts on the device; those of like length together, so that little is padded."""

    def __init__(self, pairs, labels=None, weights=None):
        self.lengths = np.array([len(evidence) + len(claim) + 3 for evidence, claim in pairs])
        ids, sides = np.zeros((len(pairs), self.lengths.max()), np.int32), np.zeros((len(pairs), self.lengths.max()), np.int8)
        for at, (evidence, claim) in enumerate(pairs):
            here, there, end = set(claim), set(evidence), self.lengths[at]
            ids[at, :end] = [CLS, *evidence, SEP, *claim, SEP]
            sides[at, :end] = [0, *(2 * (token in here) for token in evidence), 0, *(1 + 2 * (token in there) for token in claim), 1]
        on = lambda values: torch.tensor(values).to(DEVICE)
        self.ids, self.sides, self.long = on(ids), on(sides), on(self.lengths)
        self.labels = on(np.array(labels if labels is not None else [0] * len(pairs), np.float32))
        self.weights = on(np.array(weights if weights is not None else [1] * len(pairs), np.float32))

    def each(self, size, rng=None):
        order = np.arange(len(self.lengths))
        if rng is None:
            order = np.argsort(self.lengths, kind="stable")
        else:
            order = rng.permutation(order)
            order = np.concatenate([part[np.argsort(self.lengths[part], kind="stable")] for part in np.array_split(order, max(1, len(order) // (size * 50)))])
        groups = [order[start : start + size] for start in range(0, len(order), size)]
        if rng is not None:
            groups = [groups[at] for at in rng.permutation(len(groups))]
        for group in groups:
            length, rows = int(self.lengths[group].max()), torch.tensor(group).to(DEVICE)
            mask = torch.arange(length, device=DEVICE)[None] < self.long[rows][:, None]
            yield group, self.ids[rows][:, :length].long(), self.sides[rows][:, :length].long(), mask, self.labels[rows], self.weights[rows]


def small(name, weights):
    """Integers, and the scale of each column."""
    most, wide = most_of(name)
    scale = weights.abs().mean(-2, keepdim=True) * wide / most + 1e-9
    return (weights / scale).round().clamp(-most, most), scale


def is_small(name, values):
    return values.dim() == 2 and name not in ("side", "last", "places")


class Net(torch.nn.Module):
    def __init__(self, folder):
        super().__init__()
        words = np.load(folder / "words.npz")
        self.register_buffer("words", torch.tensor(words["words"] * words["scales"]), persistent=False)
        P, some = torch.nn.Parameter, lambda scale, *shape: torch.nn.Parameter(torch.randn(*shape) * scale)
        for name, values in read(folder / "base.npz").items():
            setattr(self, name, P(values))
        self.side = P(torch.zeros(4, WIDTH))
        self.asked, self.offered, self.given, self.own = (some(0.03, WIDTH, ALIGNED) for _ in range(4))
        self.compared, self.compared_bias = some(0.04, 4 * ALIGNED, COMPARED), P(torch.zeros(COMPARED))
        self.first, self.first_bias = some(0.02, 3 * WIDTH + 2 * COMPARED, HIDDEN), P(torch.zeros(HIDDEN))
        self.last, self.last_bias = some(0.1, HIDDEN, 1), P(torch.zeros(1))
        # Whether activations have 8 bits and weights four or three, as in the product; how much is left out.
        self.coarse, self.small, self.dropout = False, False, 0.1

    def w(self, name):
        weights = getattr(self, name)
        if not self.small:
            return weights
        with torch.no_grad():
            rounded, scale = small(name, weights)
            off = rounded * scale - weights
        # The gradient is that of what was given.
        return weights + off

    def activations(self, x, valid):
        if not self.coarse:
            return x
        with torch.no_grad():
            low = torch.where(valid, x, 0).amin((1, 2), keepdim=True).clamp(max=0)
            high = torch.where(valid, x, 0).amax((1, 2), keepdim=True).clamp(min=0)
            step = (high - low).clamp(min=1e-9) / 255
            off = (torch.round(x / step) * step).clamp(low, high) - x
        return x + off

    def linear(self, x, valid, name, at):
        return self.activations(x, valid) @ self.w(f"{name}{at}") + getattr(self, f"{name}_bias{at}")

    def norm(self, x, g, b):
        return F.layer_norm(x, (WIDTH,), g, b, 1e-12)

    def states(self, ids, sides, mask):
        valid, (batch, length) = mask[:, :, None], ids.shape
        heads = lambda t: t.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
        drop = lambda t: F.dropout(t, self.dropout, self.training)
        x = self.norm(self.words[ids] + self.places[:length], self.g, self.b) + self.side[sides]
        x = drop(x)
        for at in range(LAYERS):
            q, k, v = (heads(part) for part in self.linear(x, valid, "qkv", at).chunk(3, -1))
            attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
            attended = attended.transpose(1, 2).reshape(batch, length, WIDTH)
            x = self.norm(drop(self.linear(attended, valid, "o", at)) + x, getattr(self, f"n1_g{at}"), getattr(self, f"n1_b{at}"))
            wide = F.gelu(self.linear(x, valid, "wide", at))
            x = self.norm(drop(self.linear(wide, valid, "narrow", at)) + x, getattr(self, f"n2_g{at}"), getattr(self, f"n2_b{at}"))
        return x

    def forward(self, ids, sides, mask):
        x, (batch, length) = self.states(ids, sides, mask), ids.shape
        of_claim, of_evidence = ((sides % 2 == 1) & mask)[:, :, None], (sides % 2 == 0) & mask
        looks = lambda name: (x @ self.w(name)).view(batch, length, LOOKS, ALIGNED // LOOKS).transpose(1, 2)
        found = F.scaled_dot_product_attention(looks("asked"), looks("offered"), looks("given"), attn_mask=of_evidence[:, None, None, :])
        found, own = found.transpose(1, 2).reshape(batch, length, ALIGNED), x @ self.w("own")
        compared = F.gelu(torch.cat([own, found, own * found, (own - found).abs()], -1) @ self.w("compared") + self.compared_bias)
        pooled = [x[:, 0]]
        for rows in (x, compared):
            pooled.append(torch.where(of_claim, rows, 0).sum(1) / of_claim.sum(1))
            pooled.append(torch.where(of_claim, rows, -1e4).amax(1))
        pooled = F.dropout(torch.cat(pooled, 1), self.dropout, self.training)
        return (torch.tanh(pooled @ self.w("first") + self.first_bias) @ self.last + self.last_bias)[:, 0]


def read(path):
    """What base.py or `save` wrote."""
    file = np.load(path)
    names = [name for name in file.files if not name.endswith(".s")]
    whole = {name: file[name].astype(np.float32) * (file[name + ".s"] if name + ".s" in file.files else 1) for name in names}
    return {name: torch.tensor(values) for name, values in whole.items()}


def save(net, path):
    out = {}
    for name, values in net.named_parameters():
        values = values.detach().float()
        if is_small(name, values):
            values, scale = small(name, values)
            out[name + ".s"] = scale[0].cpu().numpy()
            values = values.to(torch.int8)
        out[name] = values.cpu().numpy()
    np.savez_compressed(path, **out)
