"""Many environments stepped as one batch on the server, as a Gymnasium vector environment."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from .connection import DEFAULT_RETRIES, DEFAULT_TIMEOUT, Connection, card_of, new_id
from .errors import GymnasiumMissing, ReverieError
from .rows import ROWS_TYPE, Rows, read_rows
from .spaces import gymnasium, space_of

_Base: Any = object
if gymnasium is not None:
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

    _Base = VectorEnv

_MODES = {"next_step": "NEXT_STEP", "same_step": "SAME_STEP"}
_MAX_SEED = 2**31


def make_vec(
    url: str,
    num_envs: int,
    env: Optional[str] = None,
    *,
    autoreset_mode: Any = "next_step",
    token: Optional[str] = None,
    timeout: float = DEFAULT_TIMEOUT,
    retries: int = DEFAULT_RETRIES,
) -> "ReverieVectorEnv":
    """Opens ``num_envs`` environments of numbers on a server, stepped together by one request.

    Args:
        url: Where the server is, e.g. ``http://127.0.0.1:8000``.
        num_envs: How many; each takes one of the server's slots.
        env: Name of the environment; the server's default unless given.
        autoreset_mode: ``next_step`` or ``same_step``, or Gymnasium's ``AutoresetMode`` of that name.
        token: Sent as ``Authorization: Bearer``; the environment variable ``REVERIE_TOKEN`` unless given.
        timeout: Seconds until an answer is given up.
        retries: How often a request is sent again where no answer came. A repeated step is not a second step.

    Raises:
        GymnasiumMissing: Gymnasium is not installed.
        ReverieError: The server refused, with its code and hint.
        ServerUnreachable: No server answers.
    """
    if gymnasium is None:
        raise GymnasiumMissing("make_vec()")
    connection = Connection(url, token, timeout, retries)
    try:
        return ReverieVectorEnv(connection, card_of(connection, env), num_envs, _mode_of(autoreset_mode))
    except BaseException:
        connection.close()
        raise


class ReverieVectorEnv(_Base):
    """A batch of environments, with Gymnasium's vector interface; made by :func:`make_vec`.

    With an integer seed row i gets ``seed + i``. In mode ``same_step`` ``infos["final_obs"]`` has what
    the rows that ended ended with; else infos are empty.
    """

    def __init__(self, connection: Connection, card: Mapping[str, Any], num_envs: int, mode: str) -> None:
        if gymnasium is None:
            raise GymnasiumMissing("ReverieVectorEnv")
        self.connection = connection
        self.num_envs = num_envs
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode[_MODES[mode]]}
        self.single_observation_space = space_of(card["observation_space"], "observation")
        self.single_action_space = space_of(card["action_space"], "action")
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        wanted = {"env": card["name"], "num_envs": num_envs, "autoreset_mode": mode}
        # It has no id of ours: sent again it would be a second one.
        self._path = f"/v1/vector/{connection.post('/v1/vector', wanted, repeatable=False)['id']}"
        self._was_reset = False

    def reset(
        self,
        *,
        seed: Union[None, int, Sequence[Optional[int]]] = None,
        options: Optional[Mapping[str, Any]] = None,
    ) -> Tuple[np.ndarray, Dict[str, Any]]:
        """Starts episodes.

        Args:
            seed: An integer: row i gets ``seed + i``; or one a row. Without, the first reset draws one and later ones go on.
            options: None: all rows are reset.
        """
        if isinstance(seed, (int, np.integer)):
            super().reset(seed=int(seed))
        body: Dict[str, Any] = {"request_id": new_id()}
        if seed is None and not self._was_reset:
            seed = int(self.np_random.integers(_MAX_SEED))
        if isinstance(seed, (int, np.integer)):
            body["seed"] = int(seed)
        elif seed is not None:
            body["seeds"] = [None if one is None else int(one) for one in seed]
        if options:
            raise ValueError(f"unknown reset options {list(options)}")
        rows = read_rows(self.connection.post_bytes(f"{self._path}/reset", body, ROWS_TYPE, "application/json"))
        self._was_reset = True
        return self._as_observations(rows.obs), {}

    def step(
        self, actions: Any
    ) -> Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Dict[str, Any]]:
        """Steps all rows. Where it raises ACTION_OUT_OF_SPACE or ENV_NOT_RESET nothing was stepped."""
        body = np.ascontiguousarray(actions, "<f4").tobytes()
        path = f"{self._path}/step?request_id={new_id()}"
        rows = read_rows(self.connection.post_bytes(path, body, ROWS_TYPE, ROWS_TYPE))
        return self._as_observations(rows.obs), rows.reward, rows.terminated, rows.truncated, self._finals(rows)

    def state(self) -> Dict[str, Any]:
        """What the server tells of the session."""
        return self.connection.get(self._path)

    def close_extras(self, **_: Any) -> None:
        """Closes the session on the server. A server that is gone has closed it already."""
        try:
            self.connection.delete(self._path)
        except ReverieError as error:
            if error.code != "SERVER_UNREACHABLE":
                raise
        finally:
            self.connection.close()

    def __enter__(self) -> "ReverieVectorEnv":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _as_observations(self, values: np.ndarray) -> np.ndarray:
        space = self.single_observation_space
        if isinstance(space, gymnasium.spaces.Discrete):
            return values[:, 0].astype(np.int64)
        return values.reshape((len(values), *space.shape))

    def _finals(self, rows: Rows) -> Dict[str, Any]:
        infos: Dict[str, Any] = {}
        ended = np.flatnonzero(rows.terminated | rows.truncated)
        for row, observation in zip(ended, self._as_observations(rows.final_obs)):
            infos = self._add_info(infos, {"final_obs": observation, "final_info": {}}, int(row))
        return infos


def _mode_of(mode: Any) -> str:
    name = getattr(mode, "name", str(mode)).lower()
    if name not in _MODES:
        raise ValueError(f"autoreset_mode {mode!r} is none of {', '.join(_MODES)}")
    return name
