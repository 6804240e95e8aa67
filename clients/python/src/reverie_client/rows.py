"""Frames of rows, as the server sends them: a header of five words, arrays, JSON. See docs/native-api.md of Reverie."""

from __future__ import annotations

import json
import struct
from typing import Any, Dict, NamedTuple

import numpy as np

ROWS_TYPE = "application/vnd.reverie.rows"
_HEADER = struct.Struct("<4sIIII")


class Rows(NamedTuple):
    """What a reset or a step of all rows answered. Arrays are the caller's own."""

    obs: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    #: Rows that ended and began anew in this step.
    final_mask: np.ndarray
    #: What these ended with, in their order.
    final_obs: np.ndarray
    #: ``final_info`` of these rows and ``infos`` of all, where there are any.
    told: Dict[str, Any]


def read_rows(frame: bytes) -> Rows:
    """Reads a frame. Raises ValueError where it is none."""
    if len(frame) < _HEADER.size or frame[:4] != b"RVR1":
        raise ValueError("the server's answer is no frame of rows")
    _, n, d, k, j = _HEADER.unpack_from(frame)
    if len(frame) != _HEADER.size + 4 * (n * d + n + k * d) + 3 * n + j:
        raise ValueError("the server's answer is a frame of rows cut short")
    at = _HEADER.size

    def taken(dtype: str, *shape: int) -> np.ndarray:
        nonlocal at
        array = np.frombuffer(frame, dtype, int(np.prod(shape)), at).reshape(shape)
        at += array.nbytes
        return array

    obs, reward, final_obs = taken("<f4", n, d), taken("<f4", n), taken("<f4", k, d)
    terminated, truncated, final_mask = (taken("u1", n).astype(np.bool_) for _ in range(3))
    told = json.loads(frame[at:]) if j else {}
    return Rows(obs.copy(), reward.astype(np.float64), terminated, truncated, final_mask, final_obs.copy(), told)
