"""rLLM: an environment over `@ENV@` of the Reverie server at @URL@.

Rows of the dataset: `{"item": 3}`; actions are the model's raw text. rLLM has no word for an episode without a reward: one
that could not be judged raises, and is played again (`retry_limit`), as 0 would be learnt.
"""

import json
import os
import urllib.request

from rllm.environments.base.base_env import BaseEnv

BASE = "@AGENTGYM@"


# @PART agentgym@


class ReverieEnv(BaseEnv):
    def __init__(self, item=0):
        self.item = int(item)
        self.session = ask("/create", {"id": 0})

    def reset(self):
        return {"observation": ask("/reset", {"id": self.item, "env_idx": self.session})}, {}

    def step(self, action):
        turn = ask("/step", {"env_idx": self.session, "action": str(action)})
        return {"observation": turn["observation"]}, reward_of(turn), turn["done"], {}

    def close(self):
        ask("/close", {"env_idx": self.session})

    @staticmethod
    def from_dict(info):
        return ReverieEnv(item=info.get("item", 0))

    @staticmethod
    def is_multithread_safe():
        return True
