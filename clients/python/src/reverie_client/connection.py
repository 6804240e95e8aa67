"""One kept-alive HTTP connection to a server, with requests that may be sent again."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import ssl
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union
from urllib.parse import quote, urlencode, urlsplit

from .errors import ReverieError, ServerUnreachable

#: Seconds until an answer is given up. The server gives up on a step after 55, and says so.
DEFAULT_TIMEOUT = 70.0
DEFAULT_RETRIES = 3
_FIRST_PAUSE = 0.1

Body = Union[None, bytes, Mapping[str, Any]]


def new_id() -> str:
    """An id that nobody else has: of a request, so that it may be sent again, or of a session."""
    return secrets.token_urlsafe(18)


class Connection:
    """Talks to one server. Safe to use from several threads: one request at a time.

    Args:
        url: Where the server is, e.g. ``http://127.0.0.1:8000``; a path is kept as a prefix.
        token: Sent as ``Authorization: Bearer``; the environment variable ``REVERIE_TOKEN`` unless given.
        timeout: Seconds until an answer is given up.
        retries: How often a request that may be repeated is sent again where no answer came.
    """

    def __init__(
        self,
        url: str,
        token: Optional[str] = None,
        timeout: float = DEFAULT_TIMEOUT,
        retries: int = DEFAULT_RETRIES,
    ) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address of a server, such as http://127.0.0.1:8000")
        self.url = url.rstrip("/")
        self.token = token if token is not None else os.environ.get("REVERIE_TOKEN")
        self.timeout = timeout
        self.retries = retries
        self._prefix = parts.path.rstrip("/")
        self._parts = parts
        self._lock = threading.Lock()
        self._http: Optional[http.client.HTTPConnection] = None

    def clone(self) -> "Connection":
        """Another connection to the same server."""
        return Connection(self.url, self.token, self.timeout, self.retries)

    def get(self, path: str, query: Optional[Mapping[str, Any]] = None) -> Any:
        """GETs JSON."""
        given = {key: value for key, value in (query or {}).items() if value is not None}
        return self._json("GET", f"{path}?{urlencode(given)}" if given else path, None, True)

    def post(self, path: str, body: Mapping[str, Any], repeatable: bool = True) -> Any:
        """POSTs JSON and answers JSON.

        ``repeatable``: the body has a ``request_id``, or doing it twice does no harm.
        """
        return self._json("POST", path, body, repeatable)

    def post_bytes(self, path: str, body: Body, accept: str, content_type: str) -> bytes:
        """POSTs bytes (or JSON) that may be sent again, and answers the bytes that come back."""
        headers = {"content-type": content_type, "accept": accept}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._checked("POST", path, data, headers, True)

    def delete(self, path: str) -> None:
        """DELETEs; what is gone already is fine."""
        try:
            self._checked("DELETE", path, None, {}, True)
        except ReverieError as error:
            if error.code not in ("SESSION_UNKNOWN", "SESSION_GONE"):
                raise

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _json(self, method: str, path: str, body: Optional[Mapping[str, Any]], repeatable: bool) -> Any:
        headers = {} if body is None else {"content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        answer = self._checked(method, path, data, headers, repeatable)
        return json.loads(answer) if answer else None

    def _checked(
        self, method: str, path: str, data: Optional[bytes], headers: Dict[str, str], repeatable: bool
    ) -> bytes:
        with self._lock:
            status, answer = self._sent(method, path, data, headers, repeatable)
        if status < 300:
            return answer
        raise _error_of(status, answer)

    def _sent(
        self, method: str, path: str, data: Optional[bytes], headers: Dict[str, str], repeatable: bool
    ) -> Tuple[int, bytes]:
        if self.token:
            headers = {**headers, "authorization": f"Bearer {self.token}"}
        pause = _FIRST_PAUSE
        for attempt in range(self.retries + 1):
            was_sent = False
            try:
                connection = self._opened()
                was_sent = True
                connection.request(method, self._prefix + path, body=data, headers=headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (http.client.HTTPException, OSError) as error:
                self._drop()
                if attempt == self.retries or (was_sent and not repeatable):
                    raise ServerUnreachable(self.url, str(error) or type(error).__name__) from error
            time.sleep(pause)
            pause *= 2
        raise AssertionError("unreachable")

    def _opened(self) -> http.client.HTTPConnection:
        if self._http is None:
            host, port = self._parts.hostname, self._parts.port
            if self._parts.scheme == "https":
                context = ssl.create_default_context()
                self._http = http.client.HTTPSConnection(host, port, timeout=self.timeout, context=context)
            else:
                self._http = http.client.HTTPConnection(host, port, timeout=self.timeout)
        if self._http.sock is None:
            self._http.connect()
        return self._http

    def _drop(self) -> None:
        if self._http is not None:
            self._http.close()
        self._http = None


def environments(url: str, token: Optional[str] = None) -> List[Dict[str, Any]]:
    """What a server offers: name, family, spaces, tools, splits of each environment."""
    connection = Connection(url, token)
    try:
        return connection.get("/v1/environments")["environments"]
    finally:
        connection.close()


def card_of(connection: Connection, env: Optional[str]) -> Dict[str, Any]:
    """What is told of one environment; of the default one where none is named."""
    if env is not None:
        return connection.get(f"/v1/environments/{quote(env, safe='')}")
    cards = connection.get("/v1/environments")["environments"]
    return next(card for card in cards if card["is_default"])


def _error_of(status: int, answer: bytes) -> ReverieError:
    try:
        error = json.loads(answer)["error"]
        return ReverieError(error["code"], error["message"], error["hint"], status)
    except (ValueError, KeyError, TypeError):
        shown = answer[:200].decode("utf-8", "replace")
        return ReverieError("ANSWER_UNREADABLE", f"HTTP {status}: {shown}", "Is this a server of Reverie?", status)
