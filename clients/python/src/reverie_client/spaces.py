"""Spaces of the server as Gymnasium's, and values between them. Imported only where Gymnasium is there."""

from __future__ import annotations

import json
from typing import Any, Mapping

import numpy as np

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:  # Whoever makes an environment is told so.
    gymnasium = None  # type: ignore[assignment]

#: Characters of an observation of messages, at most.
_MESSAGES = 10_000_000

if gymnasium is not None:

    class AnyText(spaces.Text):
        """Text in any script: Gymnasium's own has an alphabet."""

        def contains(self, x: Any) -> bool:
            return isinstance(x, str) and self.min_length <= len(x) <= self.max_length


def space_of(space: Mapping[str, Any], kind: str) -> Any:
    """The server's space as Gymnasium's. ``kind``: ``observation`` or ``action``."""
    if space["type"] == "box":
        shape = tuple(space["shape"])
        low = [-np.inf if bound is None else bound for bound in space["low"]]
        high = [np.inf if bound is None else bound for bound in space["high"]]
        return spaces.Box(
            np.asarray(low, np.float32).reshape(shape), np.asarray(high, np.float32).reshape(shape), shape, np.float32
        )
    if space["type"] == "discrete":
        return spaces.Discrete(space["n"], start=space["start"])
    if space["type"] == "text":
        return AnyText(space["max_length"], min_length=0 if kind == "observation" else 1)
    return AnyText(_MESSAGES, min_length=1)


def observation_of(value: Any, space: Any) -> Any:
    """What the server answered as a member of the space. Messages of a tools environment become JSON."""
    if isinstance(space, spaces.Discrete):
        return np.int64(value[0])
    if isinstance(space, spaces.Box):
        return np.asarray(value, np.float32).reshape(space.shape)
    return value if isinstance(value, str) else json.dumps(value["messages"], ensure_ascii=False)


def action_to_send(action: Any, space: Any, family: str) -> Any:
    """An action as the server takes it. In family tools a text is said to the user, and JSON of an object is a turn."""
    if isinstance(space, spaces.Discrete):
        return [int(action)]
    if isinstance(space, spaces.Box):
        return np.asarray(action, np.float32).reshape(-1).tolist()
    return turn_of(str(action)) if family == "tools" else action


def turn_of(text: str) -> Mapping[str, Any]:
    """``{"tool_calls": [...]}`` as it is; anything else is said to the user."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return {"content": text}
    return parsed if isinstance(parsed, dict) else {"content": text}
