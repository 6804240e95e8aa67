"""OpenEnv's own clients against a server of ours: whole episodes, errors, and its validator."""

import asyncio
import json
import sys

from openenv.cli._validation import validate_running_environment
from openenv.core.generic_client import GenericEnvClient
from openenv.core.mcp_client import MCPToolClient

given = json.load(sys.stdin)
url = given["url"]
helpdesk = url + "/envs/helpdesk"


async def numbers():
    async with GenericEnvClient(base_url=url) as env:
        result = await env.reset(seed=3, episode_id="mine")
        first = result.observation
        rewards = []
        while not result.done:
            result = await env.step({"values": [0.5]})
            rewards.append(result.reward)
        state = await env.state()
        try:
            await env.step({"values": [0.5]})
            refused = None
        except RuntimeError as error:
            refused = str(error)
        again = (await env.reset(seed=3)).observation
    return {
        "steps": len(rewards),
        "sum": sum(rewards),
        "state": state,
        "same": first == again,
        "last": result.observation,
        "refused": refused,
    }


def text():
    with GenericEnvClient(base_url=url + "/envs/cellar").sync() as env:
        env.reset(task=given["text_task"])
        for message in given["text_actions"]:
            result = env.step({"message": message})
        return {"reward": result.reward, "done": result.done, "state": env.state()}


async def tools():
    async with GenericEnvClient(base_url=helpdesk) as env:
        listed = await env.step({"type": "list_tools"})
        first = await env.reset(split="train", index=0)
        rewards = []
        for call in given["calls"]:
            result = await env.step({"type": "call_tool", **call})
            rewards.append(result.reward)
        return {
            "tools": len(listed.observation["tools"]),
            "user": first.observation["user"],
            "rewards": rewards,
            "done": result.done,
        }


async def mcp():
    async with MCPToolClient(base_url=helpdesk) as env:
        names = [tool.name for tool in await env.list_tools()]
        told = (await env.reset(task=given["task"])).observation.metadata
        answers = [await env.call_tool(call["tool_name"], **call["arguments"]) for call in given["calls"]]
        try:
            await env.call_tool("no_such_tool")
            refused = None
        except RuntimeError as error:
            refused = str(error)
        return {"names": names, "answers": answers, "refused": refused, "told": told}


async def crowd():
    """More clients at once than there are slots: each waits its turn."""

    async def one(seed):
        async with GenericEnvClient(base_url=url) as env:
            await env.reset(seed=seed)
            return (await env.step({"values": [0.1]})).reward

    return await asyncio.gather(*(one(seed) for seed in range(6)))


def validated(target):
    report = validate_running_environment(target)
    return {"passed": report["passed"], "failed": report["summary"]["failed_criteria"]}


result = {
    "numbers": asyncio.run(numbers()),
    "text": text(),
    "tools": asyncio.run(tools()),
    "mcp": asyncio.run(mcp()),
    "crowd": asyncio.run(crowd()),
    "validated": [validated(url), validated(helpdesk)],
}
print("\nRESULT " + json.dumps(result))
