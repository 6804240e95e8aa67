"""Frames of rows, as the server sends them: a header of four words, then arrays. See docs/native-api.md of Reverie."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

ROWS_TYPE = "application/vnd.reverie.rows"
_HEADER = struct.Struct("<4sIII")


class Rows(NamedTuple):
    """What a reset or a step of all rows answered. Arrays are the caller's own."""

    obs: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    #: What the rows that ended and began anew in this step (same_step) ended with, in their order.
    final_obs: np.ndarray


def read_rows(frame: bytes) -> Rows:
    """Reads a frame. Raises ValueError where it is none."""
    if len(frame) < _HEADER.size or frame[:4] != b"RVR2":
        raise ValueError("the server's answer is no frame of rows")
    _, n, d, k = _HEADER.unpack_from(frame)
    floats = n * d + n + k * d
    flags = _HEADER.size + 4 * floats
    if len(frame) != flags + 2 * n:
        raise ValueError("the server's answer is a frame of rows cut short")
    obs = np.frombuffer(frame, "<f4", n * d, _HEADER.size).reshape(n, d).copy()
    reward = np.frombuffer(frame, "<f4", n, _HEADER.size + 4 * n * d).astype(np.float64)
    final_obs = np.frombuffer(frame, "<f4", k * d, _HEADER.size + 4 * (n * d + n)).reshape(k, d).copy()
    terminated = np.frombuffer(frame, "u1", n, flags).astype(np.bool_)
    truncated = np.frombuffer(frame, "u1", n, flags + n).astype(np.bool_)
    return Rows(obs, reward, terminated, truncated, final_obs)
