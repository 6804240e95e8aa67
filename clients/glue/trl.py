"""TRL: trains on `@ENV@` of the Reverie server at @URL@ (GRPOTrainer, `environment_factory`).

Needs no package but TRL (transformers >= 5.2) and datasets. TRL's Open Reward Standard adapter needs no code at all:

    spec = OpenRewardSpec("@ORIGIN@", num_tasks=64)
    GRPOTrainer(model=..., train_dataset=spec.train_dataset, environment_factory=spec.environment_factory,
                reward_funcs=spec.reward_funcs)

This file is for when you want to see, or change, what happens in between:

    MODEL=Qwen/Qwen3-0.6B python train.py
    MODEL=Qwen/Qwen3-0.6B IMITATE=runs/desk/datasets/trl python train.py     # first what `reverie export` wrote
"""

import json
import os
import urllib.error
import urllib.request

URL = "@URL@"
ENV = "@ENV@"
# Whoever stops in a game has given up, and keeps what was won so far; a user who was left cannot judge.
STOPPING_ENDS = @STOPPING@
# Before what is seen first.
HOW = "@HOW@\n\n"


class Reverie:
    """One session of the server. Errors of the server are raised with its sentence and hint."""

    def __init__(self):
        self.id = self.ask("POST", "/v1/sessions", {"env": ENV})["id"]

    @staticmethod
    def ask(method, path, body=None):
        # A connection for each request: one kept open would be closed by the server while TRL computes gradients.
        headers = {"content-type": "application/json"}
        if "REVERIE_TOKEN" in os.environ:
            headers["authorization"] = "Bearer " + os.environ["REVERIE_TOKEN"]
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(URL.rstrip("/") + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                text = reply.read()
        except urllib.error.HTTPError as refusal:
            error = json.loads(refusal.read())["error"]
            raise RuntimeError(f"{error['message']} {error['hint']}") from refusal
        return json.loads(text) if text else None

    def reset(self, **task):
        return self.ask("POST", f"/v1/sessions/{self.id}/reset", task)

    def step(self, action):
        return self.ask("POST", f"/v1/sessions/{self.id}/step", {"action": action})

    def close(self):
        try:
            self.ask("DELETE", f"/v1/sessions/{self.id}")
        except RuntimeError:
            pass  # closed already: the server closes those that nobody asked for a while


class Environment:
    """What TRL makes as many of as it has rollouts, and keeps. Public methods but `reset` are the model's tools."""

    def __init__(self):
        self._session = None
        self._return = 0.0
        self._done = False

    def reset(self, task=None, seed=None, **_):
        """Starts the task of a dataset row, in a session of its own; what it answers is added to the row's prompt."""
        if self._session is not None:
            self._session.close()
        self._session = Reverie()
        chosen = {key: value for key, value in {"task": task, "seed": seed}.items() if value is not None}
        turn = self._session.reset(**chosen)
        self._return, self._done = 0.0, False
        return _text(turn["observation"])

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


def reward(environments, completions, **_):
    """Returns of the episodes. None, which TRL leaves out of the advantage, where one was cut, left or not judged."""
    return [
        environment._return if environment._done or (STOPPING_ENDS and _stopped(completion)) else None
        for environment, completion in zip(environments, completions)
    ]


def _stopped(completion):
    """Whether the model called no tool in its last turn, rather than being cut off between calls."""
    last = completion[-1]
    return last["role"] == "assistant" and not last.get("tool_calls")


def dataset(count=64):
    """Tasks of the split `train`; in environments without tasks, seeds."""
    from datasets import Dataset

    listed = Reverie.ask("GET", f"/v1/environments/{ENV}/tasks?split=train")["tasks"]
    tasks = [task["id"] for task in listed] or [None]
    prompt = [{"role": "user", "content": HOW}]
    rows = [{"prompt": prompt, "task": tasks[i % len(tasks)], "seed": i} for i in range(count)]
    return Dataset.from_list(rows)


# @PART imitation@
def settings(config, **changed):
    """TRL's configuration for this machine: it computes in bfloat16 unless told otherwise, which not every machine can."""
    import torch

    has_gpu = torch.cuda.is_available()
    bf16 = has_gpu and torch.cuda.is_bf16_supported()
    return config(**{"bf16": bf16, "use_cpu": not has_gpu, **changed})


def grpo(model, count=64, **changed):
    """A trainer of the model, by name or folder, on as many rows; what else is given changes its GRPOConfig."""
    from trl import GRPOConfig, GRPOTrainer

    usual = {"output_dir": "trl-@ENV@", "max_completion_length": 4096}
    return GRPOTrainer(
        model=model,
        train_dataset=dataset(count),
        environment_factory=Environment,
        reward_funcs=reward,
        args=settings(GRPOConfig, **{**usual, **changed}),
    )


if __name__ == "__main__":
    name = os.environ.get("MODEL", "Qwen/Qwen3-0.6B")
    if folder := os.environ.get("IMITATE"):
        first = sft(name, folder)
        first.train()
        first.save_model()
        name = first.args.output_dir
    grpo(name).train()
