"""Plays whole episodes with the unmodified client of the Open Reward Standard, `ors`."""

import asyncio
import json
import sys

given = json.load(sys.stdin)
url = given["url"]


def shown(output):
    return {
        "text": "\n".join(block.text for block in output.blocks),
        "reward": output.reward,
        "finished": output.finished,
        "metadata": output.metadata,
    }


def played(session, calls):
    return [shown(session.call_tool(call["name"], call["arguments"])) for call in calls]


def of_ors():
    from ors.client import ORS

    client = ORS(url)
    desk = client.environment("helpdesk")
    task = desk.get_task("train", 0)
    with desk.session(task=task) as session:
        prompt = [block.text for block in session.get_prompt()]
        tools = [tool.name for tool in session.list_tools()]
        steps = played(session, given["calls"])
        try:
            session.call_tool("get_employee", {"employee_id": "EMP-1042"})
            after = None
        except Exception as error:
            after = str(error)
    swing = client.environment("pendulum")
    with swing.session(task=swing.get_task("train", 7)) as session:
        rows = played(session, [{"name": "step", "arguments": {"action": [0.5]}}] * 200)
        pendulum = {"prompt": [block.text for block in session.get_prompt()], "steps": rows}
    with swing.session(task=swing.get_task("test", 0)) as session:
        try:
            session.call_tool("step", {"action": "left"})
            wrong = None
        except Exception as error:
            wrong = str(error)
    return {
        "splits": desk.list_splits(),
        "tasks": [task.task_spec for task in desk.list_tasks("test")],
        "count": desk.num_tasks("train"),
        "range": [task.task_spec["index"] for task in desk.get_task_range("train", 1, 3)],
        "task": task.task_spec,
        "listed": [tool.name for tool in desk.list_tools()],
        "openai": desk.list_tools(format="openai")[0],
        "prompt": prompt,
        "tools": tools,
        "steps": steps,
        "after": after,
        "seeds": swing.num_tasks("train"),
        "pendulum": pendulum,
        "wrong": wrong,
    }


print("RESULT " + json.dumps(of_ors()))
