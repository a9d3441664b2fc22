"""A net of head.bin: adapters behind the frozen sentence model, an alignment of claim and evidence, a classifier.

The model in the binary stays as it is. Behind each of its layer normalisations a small adapter is added (down, GELU, up);
to what comes out of the embeddings, a vector that tells the claim from the evidence and what both have from what one has.
At the end each word of the claim is held against those words of the evidence that it attends to.
"""

import math
import pathlib
import re

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parents[4]
MODEL = ROOT / "crates/index/data/all-minilm-l6-v2-int8"
WORDS, WIDTH, HEADS, LAYERS, TOKENS_MAX, CLAIM_MAX = 30522, 384, 12, 6, 256, 96
CLS, SEP = 101, 102
# The same numbers as in grounding/entailment.rs.
NARROW, HIDDEN, ALIGNED, LOOKS, COMPARED = 80, 64, 128, 4, 64
# A weight has four bits: -7 to 7.
MOST = 7.0
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def plain(text):
    """As grounding/entailment.rs has it."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    text = text.replace("\\n", " ").replace("\\t", " ").replace("\\r", " ").replace('\\"', " ").replace("\\/", "/").replace("\\\\", "\\")
    return " ".join(text.replace('"', " ").replace("_", " ").split())


class Texts:
    """Pairs of texts as tokens."""

    def __init__(self):
        self.tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
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
        linears.append(linear(WIDTH, 3 * WIDTH))
        linears.append(linear(WIDTH, WIDTH))
        norms.append(norm())
        linears += [linear(WIDTH, 4 * WIDTH), linear(4 * WIDTH, WIDTH)]
        norms.append(norm())
    assert not rest
    return words, places, norms, linears


def rounded(weights):
    """Four bits each, a scale for each column; the gradient is that of what it was given."""
    with torch.no_grad():
        scale = weights.abs().mean(-2, keepdim=True) * 2.8 / MOST + 1e-9
        off = (weights / scale).round().clamp(-MOST, MOST) * scale - weights
    return weights + off


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        words, places, norms, linears = frozen_weights()
        keep = lambda name, value: self.register_buffer(name, torch.tensor(np.array(value)), persistent=False)
        keep("words", words), keep("places", places)
        for at, (gain, bias) in enumerate(norms):
            keep(f"gain{at}", gain), keep(f"shift{at}", bias)
        for at, (weight, bias) in enumerate(linears):
            keep(f"weight{at}", weight), keep(f"bias{at}", bias)
        P, some = torch.nn.Parameter, lambda scale, *shape: torch.nn.Parameter(torch.randn(*shape) * scale)
        adapters = 2 * LAYERS
        self.side = P(torch.zeros(4, WIDTH))
        self.down, self.down_bias = some(0.02, adapters, WIDTH, NARROW), P(torch.zeros(adapters, NARROW))
        self.up, self.up_bias = P(torch.zeros(adapters, NARROW, WIDTH)), P(torch.zeros(adapters, WIDTH))
        self.asked, self.offered, self.given, self.own = (some(0.03, WIDTH, ALIGNED) for _ in range(4))
        self.compared, self.compared_bias = some(0.04, 4 * ALIGNED, COMPARED), P(torch.zeros(COMPARED))
        self.first, self.first_bias = some(0.02, 3 * WIDTH + 2 * COMPARED, HIDDEN), P(torch.zeros(HIDDEN))
        self.last, self.last_bias = some(0.1, HIDDEN, 1), P(torch.zeros(1))
        # Whether activations have 8 bits and weights four, as in the product; how much is left out.
        self.coarse, self.small, self.dropout = False, False, 0.1

    def w(self, weights):
        return rounded(weights) if self.small else weights

    def activations(self, x, valid):
        """What the product makes of the activations of one text, with the gradient of what it was given."""
        if not self.coarse:
            return x
        with torch.no_grad():
            low = torch.where(valid, x, 0).amin((1, 2), keepdim=True).clamp(max=0)
            high = torch.where(valid, x, 0).amax((1, 2), keepdim=True).clamp(min=0)
            step = (high - low).clamp(min=1e-9) / 255
            off = (torch.round(x / step) * step).clamp(low, high) - x
        return x + off

    def linear(self, x, valid, at):
        return self.activations(x, valid) @ getattr(self, f"weight{at}") + getattr(self, f"bias{at}")

    def norm(self, x, at):
        return F.layer_norm(x, (WIDTH,), getattr(self, f"gain{at}"), getattr(self, f"shift{at}"), 1e-12)

    def adapted(self, x, at, down, up):
        inner = F.gelu(x @ down[at] + self.down_bias[at])
        return x + F.dropout(inner, self.dropout, self.training) @ up[at] + self.up_bias[at]

    def states(self, ids, sides, mask):
        valid, (batch, length) = mask[:, :, None], ids.shape
        down, up = self.w(self.down), self.w(self.up)
        heads = lambda t: t.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
        x = self.norm(self.words[ids] + self.places[:length], 0) + self.side[sides]
        for layer in range(LAYERS):
            at = 4 * layer
            q, k, v = (heads(part) for part in self.linear(x, valid, at).chunk(3, -1))
            attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
            attended = attended.transpose(1, 2).reshape(batch, length, WIDTH)
            x = self.adapted(self.norm(self.linear(attended, valid, at + 1) + x, 2 * layer + 1), 2 * layer, down, up)
            wide = F.gelu(self.linear(x, valid, at + 2))
            x = self.adapted(self.norm(self.linear(wide, valid, at + 3) + x, 2 * layer + 2), 2 * layer + 1, down, up)
        return x

    def forward(self, ids, sides, mask):
        x, (batch, length) = self.states(ids, sides, mask), ids.shape
        of_claim, of_evidence = ((sides % 2 == 1) & mask)[:, :, None], (sides % 2 == 0) & mask
        looks = lambda weights: (x @ self.w(weights)).view(batch, length, LOOKS, ALIGNED // LOOKS).transpose(1, 2)
        found = F.scaled_dot_product_attention(looks(self.asked), looks(self.offered), looks(self.given), attn_mask=of_evidence[:, None, None, :])
        found, own = found.transpose(1, 2).reshape(batch, length, ALIGNED), x @ self.w(self.own)
        compared = F.gelu(torch.cat([own, found, own * found, (own - found).abs()], -1) @ self.w(self.compared) + self.compared_bias)
        pooled = [x[:, 0]]
        for rows in (x, compared):
            pooled.append(torch.where(of_claim, rows, 0).sum(1) / of_claim.sum(1))
            pooled.append(torch.where(of_claim, rows, -1e4).amax(1))
        pooled = F.dropout(torch.cat(pooled, 1), self.dropout, self.training)
        return (torch.tanh(pooled @ self.w(self.first) + self.first_bias) @ self.last + self.last_bias)[:, 0]
