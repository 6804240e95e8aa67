"""Binds environments by TRL's unmodified OpenRewardSpec and plays the calls given through what a trainer gets."""

import json
import sys

given = json.load(sys.stdin)

from transformers.utils import get_json_schema
from trl.experimental.openreward import OpenRewardSpec


def played(num_tasks, row, calls, env_name=None):
    spec = OpenRewardSpec(given["url"], env_name=env_name, num_tasks=num_tasks)
    rows = spec.train_dataset
    environment = spec.environment_factory()
    opening = environment.reset(**rows[row])
    texts = [getattr(environment, call["name"])(**call["arguments"]) for call in calls]
    methods = [name for name in dir(environment) if not name.startswith("_") and callable(getattr(environment, name))]
    seen = {
        "columns": rows.column_names,
        "count": len(rows),
        "opening": opening,
        "methods": methods,
        "texts": texts,
        "rewards": environment.rewards,
        "reward": spec.reward_funcs(environments=[environment]),
        "finished": environment.finished,
        "schema": get_json_schema(getattr(environment, calls[0]["name"])),
    }
    environment._close()
    return seen


print("RESULT " + json.dumps([played(**play) for play in given["plays"]]))
