"""SkyRL-gym: a text environment over `@ENV@` of the Reverie server at @URL@.

Register it where the trainer starts, and name it in the rows (`"env_class": "reverie", "item": 3`):

    from skyrl_gym.envs import register
    register(id="reverie", entry_point="reverie_skyrl:ReverieEnv")

SkyRL has no word for an episode without a reward: one that could not be judged raises, and ends the run, as 0 would be learnt.
"""

import json
import os
import urllib.request

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

BASE = "@AGENTGYM@"


# @PART agentgym@


class ReverieEnv(BaseTextEnv):
    def __init__(self, env_config=None, extras=None):
        super().__init__()
        self.item = int((extras or {}).get("item", 0))
        self.session = ask("/create", {"id": 0})

    def init(self, prompt):
        opening = ask("/reset", {"id": self.item, "env_idx": self.session})
        return [*prompt, {"role": "user", "content": opening}], {}

    def step(self, action):
        turn = ask("/step", {"env_idx": self.session, "action": action})
        said = [] if turn["done"] else [{"role": "user", "content": turn["observation"]}]
        return BaseTextEnvStepOutput(observations=said, reward=reward_of(turn), done=turn["done"], metadata={})

    def close(self):
        ask("/close", {"env_idx": self.session})
