"""verl: a multi-turn interaction with `@ENV@` of the Reverie server at @URL@.

The model's raw text goes to the server, which reads tool calls out of it (JSON, Hermes `<tool_call>`, ReAct) and answers
as the environment would. Keep this file importable as `reverie_verl` and name it in the configuration:

    # interaction.yaml
    interaction:
      - name: reverie
        class_name: reverie_verl.ReverieInteraction
        config: {}

    actor_rollout_ref.rollout.multi_turn.enable=True
    actor_rollout_ref.rollout.multi_turn.interaction_config_path=interaction.yaml

Rows of the dataset: `extra_info.interaction_kwargs = {"name": "reverie", "item": 3}`; `python reverie_verl.py rows.jsonl`
writes one for each task, with its first observation as the prompt.
"""

import asyncio
import json
import os
import sys
import urllib.request

from verl.interactions.base import BaseInteraction

BASE = "@AGENTGYM@"


def ask(path, body=None):
    """POSTs (or GETs) JSON. Errors come as `{"error": ...}`."""
    headers = {"content-type": "application/json"}
    if "REVERIE_TOKEN" in os.environ:
        headers["authorization"] = "Bearer " + os.environ["REVERIE_TOKEN"]
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(BASE + path, data, headers), timeout=120) as reply:
        answer = json.loads(reply.read())
    if isinstance(answer, dict) and "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


class ReverieInteraction(BaseInteraction):
    def __init__(self, config):
        super().__init__(config)
        self._sessions = {}

    async def start_interaction(self, instance_id=None, item=0, **_):
        session = await asyncio.to_thread(ask, "/create", {"id": 0})
        await asyncio.to_thread(ask, "/reset", {"id": item, "env_idx": session})
        instance_id = instance_id or str(session)
        self._sessions[instance_id] = session
        return instance_id

    async def generate_response(self, instance_id, messages, **_):
        said = next(message["content"] for message in reversed(messages) if message["role"] == "assistant")
        step = {"env_idx": self._sessions[instance_id], "action": said}
        turn = await asyncio.to_thread(ask, "/step", step)
        return turn["done"], turn["observation"], float(turn["reward"] or 0.0), {}

    async def calculate_score(self, instance_id=None, **_):
        return 0.0

    async def finalize_interaction(self, instance_id=None, **_):
        session = self._sessions.pop(instance_id, None)
        if session is not None:
            await asyncio.to_thread(ask, "/close", {"env_idx": session})


def rows(count):
    """verl's RL rows: the first observation of each item is the prompt."""
    session = ask("/create", {"id": 0})
    for item in range(count):
        prompt = [{"role": "user", "content": ask("/reset", {"id": item, "env_idx": session})}]
        kwargs = {"name": "reverie", "item": item}
        yield {
            "data_source": "reverie/@ENV@",
            "prompt": prompt,
            "ability": "agent",
            "reward_model": {"style": "interaction", "ground_truth": ""},
            "extra_info": {"split": "train", "index": item, "interaction_kwargs": kwargs},
        }
    ask("/close", {"env_idx": session})


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        for row in rows(int(sys.argv[2]) if len(sys.argv) > 2 else @ITEMS@):
            file.write(json.dumps(row) + "\n")
