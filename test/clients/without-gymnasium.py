"""The client where Gymnasium is not installed; see python-client.test.ts."""

import json
import sys

sys.modules["gymnasium"] = None
given = json.loads(sys.stdin.read())

import reverie_client  # noqa: E402

found = {}
for name, make in (
    ("make", lambda: reverie_client.make(given["url"])),
    ("make_vec", lambda: reverie_client.make_vec(given["url"], 2)),
):
    try:
        make()
    except reverie_client.GymnasiumMissing as error:
        found[name] = error.code
with reverie_client.ReverieToolsEnv(given["url"], "helpdesk") as env:
    found["messages"] = len(env.reset(seed=1).messages)
found["environments"] = [card["name"] for card in reverie_client.environments(given["url"])]
print("\nRESULT " + json.dumps(found))
