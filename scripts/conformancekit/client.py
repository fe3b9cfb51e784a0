"""The client that the suite judges: it does what a scenario asks for, with the product's client.

The address of the server is the last argument; `MCP_CONFORMANCE_SCENARIO` says what to do there,
`MCP_CONFORMANCE_CONTEXT` with what, `MCP_CONFORMANCE_PROTOCOL_VERSION` in which era.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from typing import Any

import anyio

from caliban_mcp_client import ClientParts, HttpTarget, McpClient, McpError, McpTool, ServerOptions
from caliban_mcp_client.handler import DecliningHandler, Elicitation, ElicitResult
from caliban_mcp_client.oauth import (
    IdentityProvider,
    LoginOptions,
    LoginParts,
    MemoryTokens,
    OAuthAuthorization,
)
from caliban_mcp_client.oauth.values import Grant
from caliban_provider.http import HttpClient

DOCUMENT = "https://conformance-test.local/client-metadata.json"
TWO_NUMBERS = {"a": 5, "b": 3}


class Accepting(DecliningHandler):
    """Accepts every form as it stands: what it does not say is filled in by its defaults."""

    async def elicit(self, request: Elicitation) -> ElicitResult:
        """Accept."""
        del request
        return ElicitResult(action="accept", content={})


class Browser:
    """Opens what it is shown, and says where it was sent."""

    async def show(self, url: str, redirect_uri: str) -> None:
        """Open it: the suite agrees at once, and sends the browser back."""
        del redirect_uri
        client = HttpClient()
        async with client.stream("GET", url, headers={}) as reply:
            self.place = reply.headers.get("location")
        await client.aclose()

    async def pasted(self) -> str | None:
        """The address that it was sent to."""
        return self.place

    async def refused(self, words: str) -> None:
        """Say why."""
        print(words, file=sys.stderr)


def authorization(url: str, scenario: str, context: Mapping[str, Any]) -> OAuthAuthorization | None:
    """Who logs in, with what the scenario gives, where it is about logins."""
    if not scenario.startswith("auth/"):
        return None
    grant: Grant = "authorization_code"
    if scenario.startswith("auth/client-credentials"):
        grant = "client_credentials"
    elif scenario == "auth/enterprise-managed-authorization":
        grant = "enterprise_managed"
    options = LoginOptions(
        grant=grant,
        identity=IdentityProvider(
            issuer=context.get("idp_issuer", ""),
            token_url=context.get("idp_token_endpoint", ""),
            client_id=context.get("idp_client_id", ""),
        ),
        private_key=context.get("private_key_pem", ""),
        client_id=context.get("client_id", ""),
        client_secret=context.get("client_secret", ""),
        client_metadata_url=DOCUMENT,
        timeout_s=30.0,
    )

    async def id_token() -> str:
        return str(context["idp_id_token"])

    parts = LoginParts(
        store=MemoryTokens(),
        open_client=lambda reach: HttpClient(),
        learn=lambda secret: None,
        agent=Browser(),
        id_token=id_token,
    )
    return OAuthAuthorization("conformance", url, options, parts)


async def act(client: McpClient, scenario: str, context: Mapping[str, Any]) -> None:
    """List, and call what the scenario wants."""
    tools = await client.list_tools()
    if scenario == "http-standard-headers":
        for prompt in await client.list_prompts():
            await client.get_prompt(prompt.name, {argument.name: "x" for argument in prompt.arguments})
        for resource in await client.list_resources():
            await client.read_resource(resource.uri)
    calls = context.get("toolCalls")
    if isinstance(calls, list):
        for call in calls:
            await client.call_tool(call["name"], call["arguments"])
        return
    for tool in tools:
        try:
            await client.call_tool(tool.name, arguments(tool, tools))
        except McpError as error:
            print(f"{tool.name}: {error}", file=sys.stderr)


def arguments(tool: McpTool, tools: tuple[McpTool, ...]) -> dict[str, Any]:
    """What a tool is called with."""
    if tool.name == "json_schema_echo":
        schemas = [other.input_schema for other in tools if other.name != tool.name]
        return {"schema": schemas[0]}
    wanted = tool.input_schema.get("properties", {})
    return {name: TWO_NUMBERS.get(name, "x") for name in wanted}


async def main() -> int:
    """Run one scenario."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
    options = ServerOptions(protocol="auto" if version >= "2026" or not version else "legacy")
    url = sys.argv[-1]
    parts = ClientParts(
        http=lambda: HttpClient(read_s=math.inf),
        handler=Accepting(),
        authorization=authorization(url, scenario, context),
    )
    try:
        async with McpClient(HttpTarget(url=url, kind="http"), options, parts) as client:
            await act(client, scenario, context)
            for line in client.problems:
                print(line, file=sys.stderr)
    except McpError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(anyio.run(main))
