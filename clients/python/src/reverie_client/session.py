"""One session on the server: the verbs that all kinds of environments share."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from .connection import Connection, card_of, new_id
from .errors import ReverieError

#: What ``reset`` takes as options beside the seed.
RESET_OPTIONS = ("task", "split", "index", "snapshot")


class Session:
    """An open session. Every request that changes something has an id, so that sending it again changes nothing more."""

    def __init__(self, connection: Connection, card: Mapping[str, Any], id: str) -> None:
        self.connection = connection
        self.card = card
        self.id = id
        self._path = f"/v1/sessions/{id}"

    @classmethod
    def open(cls, connection: Connection, env: Optional[str]) -> "Session":
        """Opens a session of the environment of that name, or of the server's default."""
        card = card_of(connection, env)
        id = new_id()
        try:
            connection.post("/v1/sessions", {"env": card["name"], "id": id})
        except ReverieError as error:
            # The id is ours: an earlier try got through, and only its answer was lost.
            if error.code != "SESSION_EXISTS":
                raise
        return cls(connection, card, id)

    def reset(self, seed: Optional[int], options: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
        start = dict(options or {})
        unknown = [key for key in start if key not in RESET_OPTIONS]
        if unknown:
            raise ValueError(f"unknown reset options {unknown}; there are {', '.join(RESET_OPTIONS)}")
        if seed is not None:
            start["seed"] = int(seed)
        return self._post("reset", start)

    def step(self, action: Any) -> Dict[str, Any]:
        return self._post("step", {"action": action})

    def state(self) -> Dict[str, Any]:
        return self.connection.get(self._path)

    def snapshot(self) -> str:
        return self._post("snapshot", {})["id"]

    def restore(self, snapshot: str, seed: Optional[int]) -> Dict[str, Any]:
        return self._post("restore", {"snapshot": snapshot, **({} if seed is None else {"seed": int(seed)})})

    def fork(self, count: int, seeds: Optional[Sequence[int]]) -> List["Session"]:
        body: Dict[str, Any] = {"count": count}
        if seeds is not None:
            body["seeds"] = [int(seed) for seed in seeds]
        forks = self._post("fork", body)["sessions"]
        return [Session(self.connection.clone(), self.card, fork["id"]) for fork in forks]

    def close(self) -> None:
        """Closes the session and the connection. A server that is gone has closed it already."""
        try:
            self.connection.delete(self._path)
        except ReverieError as error:
            if error.code != "SERVER_UNREACHABLE":
                raise
        finally:
            self.connection.close()

    def _post(self, verb: str, body: Mapping[str, Any]) -> Dict[str, Any]:
        return self.connection.post(f"{self._path}/{verb}", {**body, "request_id": new_id()})


def info_of(turn: Mapping[str, Any]) -> Dict[str, Any]:
    """What a turn tells beside its observation: nothing that differs where the same is done again."""
    return {**turn["info"], "step_count": turn["step_count"]}
