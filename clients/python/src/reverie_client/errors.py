"""What can go wrong, each with a code for programs and a hint for people."""

from __future__ import annotations


class ReverieError(Exception):
    """The server refused a request, or failed at it.

    Attributes:
        code: What went wrong, for programs, e.g. ``ACTION_OUT_OF_SPACE``; see ``docs/native-api.md``.
        message: What went wrong, for people, naming the value.
        hint: The way out.
        status: The HTTP status, or 0 where there was no answer.
    """

    def __init__(self, code: str, message: str, hint: str = "", status: int = 0) -> None:
        super().__init__(f"{code}: {message} {hint}".strip())
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status


class ServerUnreachable(ReverieError):
    """No answer came, after as many tries as were allowed."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(
            "SERVER_UNREACHABLE",
            f"No server answers at {url}: {problem}.",
            "Start one with `reverie serve SCENARIO`, and give its address.",
        )


class GymnasiumMissing(ReverieError, ImportError):
    """Something was asked for that is made of Gymnasium's spaces, and Gymnasium is not installed."""

    def __init__(self, what: str) -> None:
        super().__init__(
            "GYMNASIUM_MISSING",
            f"{what} needs Gymnasium, which is not installed.",
            "pip install 'reverie-client[gymnasium]'; ReverieToolsEnv does without.",
        )
