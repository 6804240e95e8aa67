"""Solves an environment of tools with the unmodified `mcp` package."""

import asyncio
import json
import sys

from mcp.client.client import Client

given = json.load(sys.stdin)


async def play():
    async with Client(given["url"], mode=given["mode"]) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        opening = (await client.read_resource("reverie://episode")).contents[0].text
        steps = []
        for call in given["calls"]:
            result = await client.call_tool(call["name"], call["arguments"])
            steps.append({"error": result.is_error, "meta": result.meta, "text": result.content[0].text})
        return {"tools": tools, "opening": opening, "steps": steps}


print("RESULT " + json.dumps(asyncio.run(play())))
