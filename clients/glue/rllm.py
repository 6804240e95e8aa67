"""rLLM: an environment over `@ENV@` of the Reverie server at @URL@.

Rows of the dataset: `{"item": 3}`; actions are the model's raw text.
"""

import json
import os
import urllib.request

from rllm.environments.base.base_env import BaseEnv

BASE = "@AGENTGYM@"


def ask(path, body):
    """POSTs JSON. Errors come as `{"error": ...}`."""
    headers = {"content-type": "application/json"}
    if "REVERIE_TOKEN" in os.environ:
        headers["authorization"] = "Bearer " + os.environ["REVERIE_TOKEN"]
    request = urllib.request.Request(BASE + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as reply:
        answer = json.loads(reply.read())
    if isinstance(answer, dict) and "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


class ReverieEnv(BaseEnv):
    def __init__(self, item=0):
        self.item = int(item)
        self.session = ask("/create", {"id": 0})

    def reset(self):
        return {"observation": ask("/reset", {"id": self.item, "env_idx": self.session})}, {}

    def step(self, action):
        turn = ask("/step", {"env_idx": self.session, "action": str(action)})
        return {"observation": turn["observation"]}, float(turn["reward"] or 0.0), turn["done"], {}

    def close(self):
        ask("/close", {"env_idx": self.session})

    @staticmethod
    def from_dict(info):
        return ReverieEnv(item=info.get("item", 0))

    @staticmethod
    def is_multithread_safe():
        return True
