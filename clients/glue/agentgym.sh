#!/bin/sh
# AgentGym-RL on `@ENV@` of the Reverie server at @URL@: AgentGym's own `todo` client, unmodified.
# Rows of the dataset: {"item_id": "todo_0"} … {"item_id": "todo_@LAST@"}, a task each.
set -eu

python - <<'ROWS' > reverie-@ENV@.json
import json
print(json.dumps([{"item_id": f"todo_{i}"} for i in range(@ITEMS@)]))
ROWS

exec python -m verl.agent_trainer.main_ppo \
  actor_rollout_ref.agentgym.task_name=todo \
  actor_rollout_ref.agentgym.env_addr="@AGENTGYM@" \
  actor_rollout_ref.agentgym.timeout=2400 \
  data.train_file=reverie-@ENV@.json \
  "$@"
