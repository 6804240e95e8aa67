"""Reads the weights and sample rows that the harness writes (`export`), so that all sides compute the same function."""

import json

import numpy as np


class Weights:
    """Arrays by name: w0.., b0.. [members, in, out], policy arrays, and rows with what the harness answered to them."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.header = json.loads(file.readline())
            self._arrays = {}
            for name, shape in self.header["arrays"]:
                count = int(np.prod(shape))
                self._arrays[name] = np.frombuffer(file.read(4 * count), dtype="<f4").reshape(shape)

    def __getitem__(self, name):
        return self._arrays[name]

    def layers(self, prefix):
        """[(w, b), ...] of a network, first layer first."""
        count = sum(1 for name in self._arrays if name.startswith(f"{prefix}.w"))
        return [(self[f"{prefix}.w{i}"], self[f"{prefix}.b{i}"]) for i in range(count)]


def padded(array, axis, multiple=8):
    """`array` with zeros behind it along `axis` up to a multiple: matrix products want rows of whole 16 bytes."""
    short = -array.shape[axis] % multiple
    widths = [(0, short if i == axis % array.ndim else 0) for i in range(array.ndim)]
    return np.pad(array, widths)
