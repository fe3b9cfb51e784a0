"""The client of one server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

import anyio
from anyio.abc import TaskStatus

from caliban_mcp_client import entries
from caliban_mcp_client.errors import CallLost, CallRefused, HttpRefused, NotOffered, ServerGone
from caliban_mcp_client.groups import PlainGroup
from caliban_mcp_client.keeper import Keeper
from caliban_mcp_client.link import CallTiming, Link, LinkParts
from caliban_mcp_client.listing import read_list
from caliban_mcp_client.news import Changes
from caliban_mcp_client.oddities import Oddities
from caliban_mcp_client.parts import ClientParts
from caliban_mcp_client.target import ServerOptions, Target, Verdict
from caliban_mcp_client.toolcall import ToolCalls
from caliban_mcp_client.values import CallUpdate, McpTool, ServerInfo

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from caliban_mcp_client.content import (
        CallResult,
        Completions,
        McpPrompt,
        McpResource,
        PromptMessages,
        ResourceContents,
        ResourceTemplate,
    )
    from caliban_mcp_client.questions import QuestionDesk

_T = TypeVar("_T")
CompletionKind: TypeAlias = Literal["prompt", "resource"]
_PING_S: Final = 30.0
_PAUSES_S: Final = (0.25, 1.0, 4.0)
_OUTAGE: Final = 500


class McpClient:
    """Speaks with one server, for the length of an `async with` block, from any task of the same event loop.

    Entering starts the server, finds its era and shakes hands; it raises `ConnectError`. A program that
    ends is started again, at most as often as the options say, and a call that was under way then fails.
    Leaving ends the server in order, with all that it has started. Where clients live longer than a block,
    one task each owns them: `info = await group.start(client.run)`, ended by `close`.

    Every other method raises `CallError`, `ProtocolError`, and `ServerGone` once there is no server any
    more.
    """

    def __init__(
        self, target: Target, options: ServerOptions | None = None, parts: ClientParts | None = None
    ) -> None:
        self._options = options if options is not None else ServerOptions()
        parts = parts if parts is not None else ClientParts()
        self._oddities = Oddities()
        self.changes: Changes = Changes()
        link_parts = LinkParts(
            options=self._options, handler=parts.handler, changes=self.changes, oddities=self._oddities
        )
        self._keeper = Keeper(target, parts, link_parts)
        self._handler = parts.handler
        self._tools = ToolCalls(self._options)
        self._block: AbstractAsyncContextManager[None] | None = None

    async def __aenter__(self) -> McpClient:
        self._block = self._opened()
        await self._block.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        assert self._block is not None
        return await self._block.__aexit__(*error)

    async def run(self, *, task_status: TaskStatus[ServerInfo] = anyio.TASK_STATUS_IGNORED) -> None:
        """Own the conversation until `close`, or until the server is given up; started once it can be used.

        Raises `ConnectError` where the first connection does not come about. What happens later is told by
        `changes` and by the calls.
        """
        await self._keeper.run(task_status=task_status)

    def close(self) -> None:
        """Let `run` end the server in order, and return; may be called twice."""
        self._keeper.close()

    @property
    def info(self) -> ServerInfo:
        """Whom we speak with. Raises `ServerGone` before the handshake."""
        if self._keeper.info is None:
            raise ServerGone("there is no conversation yet")
        return self._keeper.info

    @property
    def verdict(self) -> Verdict | None:
        """What to remember for the next start; `None` before the handshake."""
        return self._keeper.verdict

    @property
    def problems(self) -> tuple[str, ...]:
        """What was odd about the server and could be borne, as sentences, at most a hundred kinds."""
        return self._oddities.lines()

    @property
    def stderr(self) -> str:
        """The last 2,000 characters that a program said on its standard error."""
        return self._keeper.said

    async def list_tools(self, known: Sequence[McpTool] = ()) -> tuple[McpTool, ...]:
        """Every tool, in the server's order; broken entries are left out and named in `problems`.

        One of an earlier list, among `known`, that is told again word for word is the same object.
        """
        tools = await self._list("tools", "tools", entries.tool_reader(known))
        link = await self._keeper.link()
        return self._tools.learn(tools, self._oddities.add, has_headers=link.is_http and link.is_modern)

    async def list_prompts(self) -> tuple[McpPrompt, ...]:
        """Every prompt."""
        from caliban_mcp_client import decode

        return await self._list("prompts", "prompts", decode.read_prompt)

    async def list_resources(self) -> tuple[McpResource, ...]:
        """Every resource that the server lists."""
        from caliban_mcp_client import decode

        return await self._list("resources", "resources", decode.read_resource_entry)

    async def list_templates(self) -> tuple[ResourceTemplate, ...]:
        """Every family of resources."""
        from caliban_mcp_client import decode

        return await self._list("resources", "resourceTemplates", decode.read_template)

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        on_update: Callable[[CallUpdate], None] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> CallResult:
        """Call a tool by its own name; a tool's failure is a result (`is_error`), and no exception.

        Never sent twice, unless the server itself refused it before it was run, or a person vouches for the
        hint that it may be. `on_update` must return at once. `meta` goes along as `_meta`.
        """
        from caliban_mcp_client import decode

        params: dict[str, Any] = {"name": name, "arguments": dict(arguments)}
        if meta:
            params["_meta"] = dict(meta)
        timing = CallTiming(
            idle_s=self._options.call_timeout_s,
            limit_s=self._options.call_limit_s,
            on_update=on_update,
            has_progress=True,
        )
        link = await self._keeper.link()
        if link.is_http and link.is_modern and not self._tools.is_known(name):
            await self.list_tools()

        async def ask(sent: Mapping[str, Any]) -> dict[str, Any]:
            return await self._with_headers(sent, timing)

        try:
            result = await self._whole("tools/call", params, ask)
        except CallRefused as error:
            if not await self._tools.may_go_on(error, self._desk()):
                raise self._tools.advised(error, is_modern=link.is_modern) from error
            result = await self._whole("tools/call", params, ask)
        return self._tools.checked(name, decode.call_result(result))

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> PromptMessages:
        """A prompt with its arguments filled in."""
        from caliban_mcp_client import decode

        params = {"name": name, "arguments": dict(arguments or {})}
        return decode.prompt_messages(await self._read("prompts/get", params))

    async def read_resource(self, uri: str) -> tuple[ResourceContents, ...]:
        """What a resource holds; one URI may mean several."""
        from caliban_mcp_client import decode

        return decode.resource_contents(await self._read("resources/read", {"uri": uri}))

    async def complete(
        self,
        kind: CompletionKind,
        of: str,
        argument: str,
        value: str,
        context: Mapping[str, str] | None = None,
    ) -> Completions:
        """What an argument of the prompt or template `of` may be, when it begins as `value`.

        `context` are the arguments that are known. Raises `NotOffered`.
        """
        from caliban_mcp_client import decode

        if not self.info.offers("completions"):
            raise NotOffered("the server completes no arguments")
        ref = {"type": "ref/prompt", "name": of} if kind == "prompt" else {"type": "ref/resource", "uri": of}
        params: dict[str, Any] = {"ref": ref, "argument": {"name": argument, "value": value}}
        if context:
            params["context"] = {"arguments": dict(context)}
        result = await self._ask("completion/complete", params, self._list_timing(), is_repeatable=True)
        return decode.completions(result)

    async def ping(self) -> None:
        """Ask whether it is there."""
        link = await self._keeper.link()
        method = "server/discover" if link.is_modern else "ping"
        await link.request(method, {}, CallTiming(idle_s=_PING_S, limit_s=_PING_S))

    async def subscribe(self, uri: str) -> None:
        """Have changes of one resource told by `changes`."""
        await self._keeper.subscription.add(await self._keeper.link(), uri)

    async def unsubscribe(self, uri: str) -> None:
        """Have them told no more."""
        await self._keeper.subscription.remove(await self._keeper.link(), uri)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[None]:
        async with PlainGroup() as group:
            await group.start(self.run)
            try:
                yield
            finally:
                self.close()

    async def _list(
        self, capability: str, key: str, read: Callable[[entries.Entry, entries.Say], _T | None]
    ) -> tuple[_T, ...]:
        """One list, whole; empty where the server says that it has none."""
        await self._keeper.link()
        if self.info.capabilities and not self.info.offers(capability):
            return ()
        method = "resources/templates/list" if key == "resourceTemplates" else f"{key}/list"

        async def ask(params: Mapping[str, Any]) -> dict[str, Any]:
            return await self._ask(method, params, self._list_timing(), is_repeatable=True)

        return await read_list(ask, key, read, self._options, self._oddities.add)

    async def _read(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        timing = CallTiming(
            idle_s=self._options.call_timeout_s, limit_s=self._options.call_limit_s, has_progress=True
        )

        async def ask(sent: Mapping[str, Any]) -> dict[str, Any]:
            return await self._ask(method, sent, timing, is_repeatable="inputResponses" not in sent)

        return await self._whole(method, params, ask)

    async def _whole(
        self,
        method: str,
        params: Mapping[str, Any],
        ask: Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        link = await self._keeper.link()
        if not link.is_modern:
            return await ask(params)
        from caliban_mcp_client.rounds import through_rounds

        return await through_rounds(method, params, ask, self._desk())

    def _desk(self) -> QuestionDesk:
        """Who answers what the server asks in the place of a result."""
        from caliban_mcp_client.questions import QuestionDesk

        return QuestionDesk(self._options, self._handler)

    async def _with_headers(self, params: Mapping[str, Any], timing: CallTiming) -> dict[str, Any]:
        """Call a tool once, or twice where the server knows another schema of it than we do."""
        name = params["name"]
        is_repeatable = self._options.trusts_hints and self._tools.is_idempotent(name)
        try:
            return await self._ask(
                "tools/call", params, timing, is_repeatable=is_repeatable, headers=self._tools.headers(params)
            )
        except CallRefused as error:
            if not self._tools.is_header_mismatch(error):
                raise
        await self.list_tools()
        return await self._ask(
            "tools/call", params, timing, is_repeatable=is_repeatable, headers=self._tools.headers(params)
        )

    async def _ask(
        self,
        method: str,
        params: Mapping[str, Any],
        timing: CallTiming,
        *,
        is_repeatable: bool,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        link: Link = await self._keeper.link()
        for pause_s in (_PAUSES_S if link.is_http else (0.0,)) if is_repeatable else ():
            try:
                return await link.request(method, params, timing, headers=headers)
            except CallLost:
                pass
            except HttpRefused as error:
                if error.status < _OUTAGE:
                    raise
            await anyio.sleep(pause_s)
            link = await self._keeper.link()
        return await link.request(method, params, timing, headers=headers)

    def _list_timing(self) -> CallTiming:
        return CallTiming(idle_s=self._options.list_timeout_s, limit_s=self._options.list_timeout_s)
