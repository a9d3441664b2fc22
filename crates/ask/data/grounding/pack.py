#!/usr/bin/env python3
"""Writes head.bin from the nets of teach.py, without torch: python pack.py head.bin net1.pt net2.pt net3.pt"""

import collections
import io
import pathlib
import pickle
import sys
import zipfile

import numpy as np


class Unpickler(pickle.Unpickler):
    """Of a torch state dict, only the tensors."""

    def __init__(self, file, archive, root):
        super().__init__(file)
        self.archive, self.root = archive, root

    def find_class(self, module, name):
        if name == "_rebuild_tensor_v2":
            return lambda storage, offset, size, stride, *_: np.lib.stride_tricks.as_strided(storage[offset:], size, [4 * step for step in stride]).copy()
        if name == "OrderedDict":
            return collections.OrderedDict
        return lambda *_, **__: None

    def persistent_load(self, storage):
        return np.frombuffer(self.archive.read(f"{self.root}/data/{storage[2]}"), np.float32)


def load(path):
    archive = zipfile.ZipFile(path)
    name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
    return Unpickler(io.BytesIO(archive.read(name)), archive, name.split("/")[0]).load()


def floats(values):
    return np.ascontiguousarray(values, "<f4").tobytes()


def matrix(weights):
    """As `rounded` of nets.py has it: a scale for each column, then two weights a byte."""
    scale = np.abs(weights).mean(0, keepdims=True) * 2.8 / 7 + 1e-9
    small = np.clip(np.round(weights / scale), -7, 7).astype(np.int64).ravel() + 8
    return floats(scale[0]) + (small[0::2] | (small[1::2] << 4)).astype(np.uint8).tobytes()


def packed(net):
    """In the order in which grounding/entailment.rs reads it."""
    yield floats(net["side"])
    for name in ("down", "up"):
        yield from map(matrix, net[name])
        yield floats(net[f"{name}_bias"])
    yield from (matrix(net[name]) for name in ("asked", "offered", "given", "own", "compared"))
    yield floats(net["compared_bias"])
    yield matrix(net["first"])
    yield from (floats(net[name]) for name in ("first_bias", "last", "last_bias"))


def main(out, *paths):
    parts = b"".join(part for path in paths for part in packed(load(path)))
    print(pathlib.Path(out).write_bytes(parts), "bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
