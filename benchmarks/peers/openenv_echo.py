"""OpenEnv's own server around the environment of its first example: it says what it hears, and pays by the length."""

import socket
import threading
import time

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app

from peer import serve


class EchoAction(Action):
    message: str


class EchoObservation(Observation):
    echoed_message: str
    message_length: int


class EchoEnvironment(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._state = State(episode_id=None, step_count=0)

    def reset(self, seed=None, episode_id=None, **_):
        self._state = State(episode_id=episode_id, step_count=0)
        return EchoObservation(echoed_message="Echo environment ready!", message_length=0, reward=0.0, done=False)

    def step(self, action, timeout_s=None, **_):
        self._state.step_count += 1
        heard = action.message
        return EchoObservation(echoed_message=heard, message_length=len(heard), reward=len(heard) * 0.1, done=False)

    @property
    def state(self):
        return self._state


def start(sessions):
    """Starts it on a free port for so many sessions at once; answers the URL."""
    app = create_app(EchoEnvironment, EchoAction, EchoObservation, env_name="echo_env", max_concurrent_envs=sessions)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(256)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


if __name__ == "__main__":
    serve({"start": start})
