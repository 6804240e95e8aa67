"""OpenEnv's own server around an environment whose step waits, on one core: peer of serve.sessions."""

import asyncio
import os
import socket
import threading
import time

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app

from peer import serve


class WaitAction(Action):
    values: list[float]


class WaitObservation(Observation):
    values: list[float]


class WaitEnvironment(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    WAIT = 1.0

    def __init__(self):
        super().__init__()
        self._state = State(episode_id=None, step_count=0)

    def reset(self, seed=None, episode_id=None, **_):
        self._state = State(episode_id=episode_id, step_count=0)
        return WaitObservation(values=[0.0, 0.0, 0.0], reward=None, done=False)

    def step(self, action, timeout_s=None, **_):
        raise NotImplementedError

    async def step_async(self, action, timeout_s=None, **_):
        # The best case for the server: the environment holds no thread while it waits.
        await asyncio.sleep(self.WAIT)
        self._state.step_count += 1
        return WaitObservation(values=[1.0, 0.0, float(self._state.step_count)], reward=0.5, done=False)

    @property
    def state(self):
        return self._state


def start(wait, sessions, core):
    """Starts it on a free port, pinned to one core (None: not pinned); answers the URL."""
    if core is not None:
        os.sched_setaffinity(0, {core})
    WaitEnvironment.WAIT = wait
    app = create_app(WaitEnvironment, WaitAction, WaitObservation, env_name="wait", max_concurrent_envs=sessions)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(4096)
    config = uvicorn.Config(app, log_level="error", access_log=False)
    server = uvicorn.Server(config)
    threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


if __name__ == "__main__":
    serve({"start": start})
