"""What the official client sees of a server: `python mcp_sdk_client.py TARGET CALLS`, both JSON; prints JSON.

A target is `{"command": ..., "args": [...]}` or `{"url": ...}`; a call is `[name, arguments]`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
from mcp import Client, StdioServerParameters


def plain(value: Any) -> Any:
    """A value of the kit as JSON."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def seen(target: dict[str, Any], calls: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Lists and results."""
    server: Any = target.get("url") or StdioServerParameters(command=target["command"], args=target["args"])
    async with Client(server) as client:
        offered = plain(client.server_capabilities)
        facts: dict[str, Any] = {"version": client.protocol_version, "prompts": [], "resources": []}
        facts["tools"] = [plain(tool) for tool in (await client.list_tools()).tools]
        if "prompts" in offered:
            facts["prompts"] = sorted(prompt.name for prompt in (await client.list_prompts()).prompts)
        if "resources" in offered:
            facts["resources"] = sorted(str(one.uri) for one in (await client.list_resources()).resources)
        facts["results"] = [plain(await client.call_tool(name, arguments)) for name, arguments in calls]
    return facts


if __name__ == "__main__":
    print(json.dumps(anyio.run(seen, json.loads(sys.argv[1]), json.loads(sys.argv[2]))))
