#!/usr/bin/env python3
"""Writes head.bin.zst from what teach.py leaves: python pack.py NET.npz words.npz head.bin.zst

    pip install numpy zstandard
"""

import pathlib
import sys

import numpy as np
import zstandard

LAYERS = 12


def floats(values):
    """With eight bits of fraction: more say nothing beside weights of four bits, and these can be compressed."""
    bits = np.ascontiguousarray(values, "<f4").view("<u4")
    return ((bits + 0x8000) & 0xFFFF0000).astype("<u4").tobytes()


def halves(values):
    """Two integers in a byte, the first one low."""
    small = values.astype(np.int64).ravel() + 8
    return (small[0::2] | (small[1::2] << 4)).astype(np.uint8).tobytes()


def packed(net, words):
    """In the order in which embed/local/encoder.rs and then grounding/entailment.rs read it."""

    def matrix(name):
        return halves(net[name]) + floats(net[name + ".s"])

    yield halves(words["words"]) + floats(words["scales"]) + floats(net["places"]) + floats(net["g"]) + floats(net["b"])
    for at in range(LAYERS):
        for part in ("qkv", "o", "n1", "wide", "narrow", "n2"):
            if part.startswith("n") and part[1:].isdigit():
                yield floats(net[f"{part}_g{at}"]) + floats(net[f"{part}_b{at}"])
            else:
                yield matrix(f"{part}{at}") + floats(net[f"{part}_bias{at}"])
    yield floats(net["side"])
    yield from (matrix(name) for name in ("asked", "offered", "given", "own"))
    yield from (matrix(name) + floats(net[name + "_bias"]) for name in ("compared", "first"))
    yield floats(net["last"]) + floats(net["last_bias"])


def main(net, words, out):
    whole = b"".join(packed(np.load(net), np.load(words)))
    print(len(whole), pathlib.Path(out).write_bytes(zstandard.ZstdCompressor(level=22).compress(whole)), "bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
