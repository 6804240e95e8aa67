TRIES = 5


class Refused(RuntimeError):
    """What the server refuses, with its own sentence and hint."""

    def __init__(self, code, sentence):
        super().__init__(sentence)
        self.code = code


class Lost(RuntimeError):
    """Why an episode has no verdict."""


def ask(method, path, body=None):
    """The JSON the server answers. Sent again where it could not be reached or was full. Raises Refused or Lost."""
    headers = {"content-type": "application/json"}
    if "REVERIE_TOKEN" in os.environ:
        headers["authorization"] = "Bearer " + os.environ["REVERIE_TOKEN"]
    data = None if body is None else json.dumps(body).encode()
    for tried in range(1, TRIES + 1):
        request = urllib.request.Request(URL + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                text = reply.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as answer:
            problem = _refusal(answer)
            if answer.code != 429 and answer.code < 500:
                raise problem from answer
        except (OSError, ValueError) as error:
            problem = error
        if tried < TRIES:
            time.sleep(2.0 ** (tried - 1))
    raise Lost(f"{method} {path}: {problem}") from problem


def _refusal(answer):
    try:
        error = json.loads(answer.read())["error"]
        return Refused(error["code"], f"{error['message']} {error['hint']}")
    except (ValueError, KeyError, TypeError):
        return Refused(f"HTTP_{answer.code}", f"The server answered {answer.code}.")


class Session:
    """One episode on the server. A request sent again does nothing twice."""

    def __init__(self, task, seed):
        self.path = "/v1/sessions/" + ask("POST", "/v1/sessions", {"env": ENV})["id"]
        self.start = {key: value for key, value in {"task": task, "seed": seed}.items() if value is not None}

    def reset(self):
        return ask("POST", self.path + "/reset", {**self.start, "request_id": uuid.uuid4().hex})

    def step(self, action):
        return ask("POST", self.path + "/step", {"action": action, "request_id": uuid.uuid4().hex})

    def close(self):
        try:
            ask("DELETE", self.path)
        except (Refused, Lost):
            pass  # closed already, or left: the server closes those that nobody asked for a while
