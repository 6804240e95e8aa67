"""A served environment of tools (and of text) with plain methods: no Gymnasium needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .connection import DEFAULT_RETRIES, DEFAULT_TIMEOUT, Connection
from .errors import ReverieError
from .session import Session, info_of


@dataclass(frozen=True)
class ToolsTurn:
    """What a reset or a step answered."""

    #: What is new: ``{"role", "content", "tool_call_id"?, "name"?, "is_error"?}``.
    messages: List[Dict[str, Any]]
    #: Of this step. None after reset, and where the end of the episode could not be judged.
    reward: Optional[float]
    terminated: bool
    truncated: bool
    info: Dict[str, Any]

    @property
    def done(self) -> bool:
        return self.terminated or self.truncated

    @property
    def text(self) -> str:
        """The contents of the new messages."""
        return "\n".join(message["content"] for message in self.messages)

    @property
    def is_error(self) -> bool:
        """Whether a tool refused or failed."""
        return any(message.get("is_error") for message in self.messages)


class ReverieToolsEnv:
    """An agent's side of a world of tools.

        env = ReverieToolsEnv("http://127.0.0.1:8000", "helpdesk")
        turn = env.reset(split="train", index=0)
        turn = env.call("get_ticket", ticket_id="TCK-20840")
        turn = env.say("Your ticket is closed.")

    Args:
        url: Where the server is.
        env: Name of the environment; the server's default unless given.
        token: Sent as ``Authorization: Bearer``; the environment variable ``REVERIE_TOKEN`` unless given.
        timeout: Seconds until an answer is given up.
        retries: How often a request is sent again where no answer came. A repeated step is not a second step.

    Raises:
        ReverieError: The server refused, or the environment is one of numbers.
    """

    def __init__(
        self,
        url: str,
        env: Optional[str] = None,
        *,
        token: Optional[str] = None,
        timeout: float = DEFAULT_TIMEOUT,
        retries: int = DEFAULT_RETRIES,
    ) -> None:
        connection = Connection(url, token, timeout, retries)
        try:
            self._begin(Session.open(connection, env))
        except BaseException:
            connection.close()
            raise

    def _begin(self, session: Session) -> None:
        self.session = session
        self.family: str = session.card["family"]
        #: The whole conversation, as far as this client has seen it, with what the agent did.
        self.messages: List[Dict[str, Any]] = []
        self._closed = False
        if self.family == "vector":
            name = session.card["name"]
            session.close()
            raise ReverieError("ENV_NOT_TOOLS", f'"{name}" is an environment of numbers.', "Use make() or make_vec().")

    @property
    def tools(self) -> List[Dict[str, Any]]:
        """The tools as OpenAI-style function schemas."""
        return [{"type": "function", "function": tool} for tool in self.session.card["tools"]]

    def reset(
        self,
        *,
        task: Optional[str] = None,
        split: Optional[str] = None,
        index: Optional[int] = None,
        snapshot: Optional[str] = None,
        seed: Optional[int] = None,
    ) -> ToolsTurn:
        """Starts an episode: of a task by id, or by its index in a split, or of a snapshot."""
        given = {"task": task, "split": split, "index": index, "snapshot": snapshot}
        options = {key: value for key, value in given.items() if value is not None}
        self.messages = []
        return self._taken(self.session.reset(seed, options))

    def call(self, name: str, /, **arguments: Any) -> ToolsTurn:
        """Calls one tool. In an environment of text: ``call("act", text=...)``; on a screen: ``call("click", bid="3")``."""
        return self.step(tool_calls=[{"name": name, "arguments": arguments}])

    def say(self, text: str) -> ToolsTurn:
        """Says something to the user; in an environment of text, acts."""
        return self.step(content=text)

    def step(
        self, content: Optional[str] = None, tool_calls: Optional[Sequence[Mapping[str, Any]]] = None
    ) -> ToolsTurn:
        """One turn of the agent: what it says, or ``[{"id"?, "name", "arguments"}]``, or (where allowed) both."""
        action: Dict[str, Any] = {} if content is None else {"content": content}
        if tool_calls is not None:
            action["tool_calls"] = [dict(call) for call in tool_calls]
        turn = self.session.step(action if self.family == "tools" else _text_of(action))
        self.messages.append({"role": "assistant", "content": None, **action})
        return self._taken(turn)

    def snapshot(self) -> str:
        """Keeps the state on the server; answers an id for ``restore`` or ``reset(snapshot=id)``."""
        return self.session.snapshot()

    def restore(self, snapshot: str, seed: Optional[int] = None) -> ToolsTurn:
        """Goes back to a snapshot. ``messages`` has what is seen there alone."""
        self.messages = []
        return self._taken(self.session.restore(snapshot, seed))

    def fork(self, count: int = 1, seeds: Optional[Sequence[int]] = None) -> List["ReverieToolsEnv"]:
        """New environments that go on from here, each on its own; close them too."""
        forks = []
        for session in self.session.fork(count, seeds):
            fork = object.__new__(type(self))
            fork._begin(session)
            fork.messages = list(self.messages)
            forks.append(fork)
        return forks

    def close(self) -> None:
        """Closes the session on the server. More than once is fine."""
        if not self._closed:
            self._closed = True
            self.session.close()

    def __enter__(self) -> "ReverieToolsEnv":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _taken(self, turn: Mapping[str, Any]) -> ToolsTurn:
        observation = turn["observation"]
        is_text = isinstance(observation, str)
        new = [{"role": "user", "content": observation}] if is_text else list(observation["messages"])
        self.messages.extend(new)
        return ToolsTurn(new, turn["reward"], turn["terminated"], turn["truncated"], info_of(turn))


def _text_of(action: Mapping[str, Any]) -> str:
    calls = action.get("tool_calls")
    if not calls:
        return str(action["content"])
    name, given = calls[0]["name"], calls[0]["arguments"]
    if name == "act":
        return str(given["text"])
    # On a screen a call is written as Python writes it.
    return "{}({})".format(name, ", ".join(f"{key}={value!r}" for key, value in given.items()))
