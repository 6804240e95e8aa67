"""A served environment as a Gymnasium environment."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .connection import DEFAULT_RETRIES, DEFAULT_TIMEOUT, Connection
from .errors import GymnasiumMissing
from .session import Session, info_of
from .spaces import action_to_send, gymnasium, observation_of, space_of

_Base: Any = object if gymnasium is None else gymnasium.Env
_MAX_SEED = 2**31


def make(
    url: str,
    env: Optional[str] = None,
    *,
    token: Optional[str] = None,
    timeout: float = DEFAULT_TIMEOUT,
    retries: int = DEFAULT_RETRIES,
) -> "ReverieEnv":
    """Opens a session of a served environment.

    Args:
        url: Where the server is, e.g. ``http://127.0.0.1:8000``.
        env: Name of the environment; the server's default unless given.
        token: Sent as ``Authorization: Bearer``; the environment variable ``REVERIE_TOKEN`` unless given.
        timeout: Seconds until an answer is given up.
        retries: How often a request is sent again where no answer came. A repeated step is not a second step.

    Raises:
        GymnasiumMissing: Gymnasium is not installed.
        ReverieError: The server refused, with its code and hint.
        ServerUnreachable: No server answers.
    """
    if gymnasium is None:
        raise GymnasiumMissing("make()")
    connection = Connection(url, token, timeout, retries)
    try:
        return ReverieEnv(Session.open(connection, env))
    except BaseException:
        connection.close()
        raise


class ReverieEnv(_Base):
    """One session, with Gymnasium's interface; made by :func:`make`.

    Rows are float32; a text environment has text spaces. In a tools environment an observation is the JSON list of the
    new messages, and an action is either said to the user, or JSON of ``{"tool_calls": [{"name", "arguments"}]}``: see
    :class:`ReverieToolsEnv` for plain methods. A reward nobody could judge is NaN, never 0.
    """

    metadata: Dict[str, Any] = {"render_modes": []}
    render_mode = None

    def __init__(self, session: Session) -> None:
        if gymnasium is None:
            raise GymnasiumMissing("ReverieEnv")
        card = session.card
        self.session = session
        self.family: str = card["family"]
        self.observation_space = space_of(card["observation_space"], "observation")
        self.action_space = space_of(card["action_space"], "action")
        self._was_reset = False
        self._closed = False

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[Mapping[str, Any]] = None
    ) -> Tuple[Any, Dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Equal seeds, equal episodes. Without, the first reset draws one and later ones go on in its stream.
            options: ``task`` (by id), or ``split`` and ``index``; or ``snapshot``, to start from one.
        """
        super().reset(seed=seed)
        if seed is None and not self._was_reset:
            seed = int(self.np_random.integers(_MAX_SEED))
        turn = self.session.reset(seed, options)
        self._was_reset = True
        return self._observed(turn), info_of(turn)

    def step(self, action: Any) -> Tuple[Any, float, bool, bool, Dict[str, Any]]:
        """Acts. A step that raises has changed nothing."""
        turn = self.session.step(action_to_send(action, self.action_space, self.family))
        reward = float("nan") if turn["reward"] is None else float(turn["reward"])
        return self._observed(turn), reward, turn["terminated"], turn["truncated"], info_of(turn)

    def snapshot(self) -> str:
        """Keeps the state on the server; answers an id for :meth:`restore`, or for ``options={"snapshot": id}``."""
        return self.session.snapshot()

    def restore(self, snapshot: str, seed: Optional[int] = None) -> Tuple[Any, Dict[str, Any]]:
        """Goes back to a snapshot; with a seed, what follows is drawn from it."""
        turn = self.session.restore(snapshot, seed)
        self._was_reset = True
        return self._observed(turn), info_of(turn)

    def fork(self, count: int = 1, seeds: Optional[Sequence[int]] = None) -> List["ReverieEnv"]:
        """New environments that go on from here, each on its own; close them too."""
        forks = [type(self)(session) for session in self.session.fork(count, seeds)]
        for fork in forks:
            fork._was_reset = True
        return forks

    def state(self) -> Dict[str, Any]:
        """What the server tells of the session: episode, task, seed, steps, return."""
        return self.session.state()

    def render(self) -> None:
        """Nothing to see: there are no render modes."""
        return None

    def close(self) -> None:
        """Closes the session on the server. More than once is fine."""
        if not self._closed:
            self._closed = True
            self.session.close()

    def __enter__(self) -> "ReverieEnv":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _observed(self, turn: Mapping[str, Any]) -> Any:
        return observation_of(turn["observation"], self.observation_space)
