"""TRL: trains on `@ENV@` of the Reverie server at @URL@ (GRPOTrainer, `environment_factory`).

Needs no package but TRL (transformers >= 5.2) and datasets. TRL's Open Reward Standard adapter needs no code at all:

    spec = OpenRewardSpec("@ORIGIN@", num_tasks=64)
    GRPOTrainer(model=..., train_dataset=spec.train_dataset, environment_factory=spec.environment_factory,
                reward_funcs=spec.reward_funcs)

This file is for when you want to see, or change, what happens in between.
"""

import http.client
import json
import os
import urllib.parse

URL = "@URL@"
ENV = "@ENV@"


class Reverie:
    """One session of the server. Errors of the server are raised with its sentence and hint."""

    def __init__(self):
        parts = urllib.parse.urlsplit(URL)
        connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.connection = connect(parts.netloc, timeout=120)
        self.prefix = parts.path.rstrip("/")
        self.id = self.ask("POST", "/v1/sessions", {"env": ENV})["id"]

    def ask(self, method, path, body=None):
        headers = {"content-type": "application/json"}
        if "REVERIE_TOKEN" in os.environ:
            headers["authorization"] = "Bearer " + os.environ["REVERIE_TOKEN"]
        self.connection.request(method, self.prefix + path, None if body is None else json.dumps(body), headers)
        reply = self.connection.getresponse()
        text = reply.read()
        answer = json.loads(text) if text else None
        if reply.status >= 400:
            error = answer["error"]
            raise RuntimeError(f"{error['message']} {error['hint']}")
        return answer

    def reset(self, **task):
        return self.ask("POST", f"/v1/sessions/{self.id}/reset", task)

    def step(self, action):
        return self.ask("POST", f"/v1/sessions/{self.id}/step", {"action": action})

    def close(self):
        self.ask("DELETE", f"/v1/sessions/{self.id}")


class Environment:
    """What TRL makes one of for each rollout. Public methods are the model's tools."""

    def __init__(self):
        self._session = Reverie()
        self._return = 0.0
        self._done = False

    def reset(self, task=None, seed=None, **_):
        """Starts the task of a dataset row; what it answers is added to the row's prompt."""
        chosen = {key: value for key, value in {"task": task, "seed": seed}.items() if value is not None}
        turn = self._session.reset(**chosen)
        self._return, self._done = 0.0, False
        return _text(turn["observation"])

    def get_reward(self):
        """The return so far; None where the episode could not be judged, which TRL leaves out of the advantage."""
        return self._return

    def _step(self, action):
        if self._done:
            raise ValueError("The episode is over.")
        turn = self._session.step(action)
        self._done = turn["terminated"] or turn["truncated"]
        if turn["reward"] is None or self._return is None:
            self._return = None
        else:
            self._return += turn["reward"]
        return _text(turn["observation"]) + ("\nThe episode is over." if self._done else "")

# @TOOLS@

def _text(observation):
    if isinstance(observation, dict) and "messages" in observation:
        return "\n\n".join(message["content"] or "" for message in observation["messages"])
    return observation if isinstance(observation, str) else json.dumps(observation)


def reward(environments, **_):
    return [environment.get_reward() for environment in environments]


def dataset(count=64):
    """Tasks of the split `train`; in environments without tasks, seeds."""
    from datasets import Dataset

    session = Reverie()
    tasks = [task["id"] for task in session.ask("GET", f"/v1/environments/{ENV}/tasks?split=train")["tasks"]] or [None]
    session.close()
    prompt = [{"role": "user", "content": "Do what is asked, with the tools you have."}]
    rows = [{"prompt": prompt, "task": tasks[i % len(tasks)], "seed": i} for i in range(count)]
    return Dataset.from_list(rows)


if __name__ == "__main__":
    from trl import GRPOConfig, GRPOTrainer

    trainer = GRPOTrainer(
        model=os.environ.get("MODEL", "Qwen/Qwen3-0.6B"),
        train_dataset=dataset(),
        environment_factory=Environment,
        reward_funcs=reward,
        args=GRPOConfig(output_dir="trl-@ENV@", max_completion_length=4096),
    )
    trainer.train()
