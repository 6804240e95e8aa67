"""Binds an environment by TRL's unmodified OpenRewardSpec and plays the reference solution through what a trainer gets."""

import json
import sys

given = json.load(sys.stdin)

from trl.experimental.openreward import OpenRewardSpec

spec = OpenRewardSpec(given["url"], env_name=given.get("env_name"), num_tasks=given["num_tasks"])
rows = spec.train_dataset
environment = spec.environment_factory()
opening = environment.reset(**rows[given["row"]])
texts = [getattr(environment, call["name"])(**call["arguments"]) for call in given["calls"]]
methods = [name for name in dir(environment) if not name.startswith("_") and callable(getattr(environment, name))]
schema = None
try:
    from transformers.utils import get_json_schema

    schema = get_json_schema(getattr(environment, given["calls"][0]["name"]))
except ImportError as error:
    schema = str(error)
print(
    "RESULT "
    + json.dumps(
        {
            "columns": rows.column_names,
            "count": len(rows),
            "opening": opening,
            "methods": methods,
            "texts": texts,
            "rewards": environment.rewards,
            "reward": spec.reward_funcs(environments=[environment]),
            "finished": environment.finished,
            "schema": schema,
        }
    )
)
environment._close()
