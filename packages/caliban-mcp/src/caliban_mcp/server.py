"""One server of a run: one task owns its connection, everybody else asks it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import lowlevel, to_thread

from caliban_common.errors import CalibanError
from caliban_mcp.cache import CachedServer
from caliban_mcp.config import ServerConfig
from caliban_mcp.definition import is_same_tool
from caliban_mcp.errors import PinsUnusable, ServerMissing
from caliban_mcp.names import tool_names
from caliban_mcp.parts import ServerParts
from caliban_mcp.pins import JudgedTools, ServerPins
from caliban_mcp.status import ServerNews, ServerState, ServerStatus
from caliban_mcp.tool import TOOL_USE_ID, OnUpdate, ServerTool, spec_of
from caliban_mcp_client.errors import ConnectError
from caliban_mcp_client.lazyevent import LazyEvent
from caliban_mcp_client.target import Verdict
from caliban_mcp_client.values import McpTool, PromptsChanged, ServerLost, ServerRestarted, ToolsChanged

if TYPE_CHECKING:
    from caliban_mcp.results import Look
    from caliban_mcp_client import McpClient
    from caliban_mcp_client.content import CallResult, McpPrompt

MAX_PROBLEMS: Final = 8
CALM_LISTS: Final = 20
"""So many times a list is asked for at once where it changes; from then on at most once in a second."""


class RunServer:
    """A server: what was known of it serves at once, and what it says itself takes that place.

    `changed` is called whenever its state or its tools are others. One that is `paused`, with
    words for a person, is connected by `restart` alone.
    """

    def __init__(
        self, config: ServerConfig, parts: ServerParts, changed: Callable[[], None], *, paused: str = ""
    ) -> None:
        self.config = config
        self.tools: tuple[ServerTool, ...] = ()
        self.instructions: str = ""
        self.has_resources: bool = False
        self.client: McpClient | None = None
        self.state: ServerState = "pending"
        self.is_cached: bool = False
        self.is_dated: bool = False
        self.was_silent: bool = False
        self._parts = parts
        self.look: Look = parts.look
        self._changed = changed
        self._error: CalibanError | None = None
        self._verdict: Verdict | None = None
        self._paused = paused
        self._settled = LazyEvent()
        self._over, self._wanted = LazyEvent(), LazyEvent()
        self._begun, self._ended = LazyEvent(), LazyEvent()
        self._is_closing = False
        self._logins: object = None
        self._scope: anyio.CancelScope | None = None
        self._relisting: anyio.CancelScope | None = None
        self._known: tuple[CachedServer, JudgedTools] | None = None
        self._offered: JudgedTools | None = None
        self._prompts: tuple[McpClient, tuple[McpPrompt, ...]] | None = None
        self._is_stale = False
        self._listed = LazyEvent()
        self._told: set[tuple[str, tuple[str, ...]]] = set()
        if paused:
            self.state = "disabled"
            self._settled.set()

    @property
    def name(self) -> str:
        """What it is called here."""
        return self.config.name

    @property
    def is_settled(self) -> bool:
        """Whether it has told its tools in this run, or will not."""
        return self._settled.is_set()

    @property
    def status(self) -> ServerStatus:
        """How it is now."""
        error = self._error
        return ServerStatus(
            name=self.name,
            state=self.state,
            scope=self.config.scope,
            words=self._paused if error is None else error.message,
            hint="" if error is None else error.hint or "",
            tools=len(self.tools),
            is_cached=self.is_cached and self.state == "pending",
        )

    @property
    def may_wait(self) -> bool:
        """Whether nobody misses it for a moment: what it offers is remembered, or that it says nothing."""
        return (self.is_known or self.was_silent) and not self.config.required

    @property
    def is_known(self) -> bool:
        """Whether what it offers is remembered, and not for too long."""
        return self.is_cached and not self.is_dated

    def begin(self) -> None:
        """Let `run` connect; whoever waits for the server, or uses it, does that too."""
        self._begun.set()

    def remember(self) -> None:
        """Offer what it had last, as far as it was let in: quick, and waiting for nobody."""
        entry = self._parts.cache.load(self._parts.key)
        if entry is None:
            return
        if entry.info is None:
            self.was_silent = True
            return
        self._verdict = entry.verdict
        self.is_cached = True
        try:
            judged = self._judge(entry.tools, entry.info.instructions)
        except PinsUnusable:
            return  # told with the live list
        self.has_resources = entry.has_resources
        self.is_dated = self._parts.cache.is_dated(entry)
        self._known = (entry, judged)
        self._offer(judged)

    def asked_in_vain(self) -> None:
        """What is remembered for long has to do for a while longer: a run has waited for a newer list."""
        if self.is_dated and self._known is not None:
            self._parts.cache.asked(self._parts.key, self._known[0])

    async def run(self) -> None:
        """Once it may begin: connect, list, follow what changes, until told to close; anew where wanted."""
        try:
            await self._begun.wait()
            if not self._is_closing:  # whatever was wanted before, it begins now
                self._wanted, self._over = LazyEvent(), LazyEvent()
            while True:
                if not self._paused and not self._is_closing:
                    await self._converse()
                if self._paused:
                    self.state = "disabled"
                self.client = None
                self._settle()
                if not self._is_closing:
                    await self._wanted.wait()
                if self._is_closing:
                    return
                self._wanted, self._over = LazyEvent(), LazyEvent()
                self._error, self.state = None, "pending"
                self._changed()
                self._told = {notice for notice in self._told if notice[0] != "failed"}
        finally:
            self._settled.set()
            self._ended.set()

    def close(self) -> None:
        """Let `run` end: in order where it is connected, at once where it is not."""
        self._is_closing = True
        self.begin()
        if self.client is None and self._scope is not None and not self.is_settled:
            self._parts.cache.silent(self._parts.key)
        self._end()
        self._wanted.set()

    def restart(self) -> None:
        """Connect anew, also where it was paused; `settled` waits for that."""
        self._paused = ""
        self.begin()
        if self._settled.is_set():
            self._settled = LazyEvent()
        self._wanted.set()
        self._end()

    def pause(self, words: str) -> None:
        """End the conversation, and offer nothing until `restart`; `words` say why, for a person."""
        self._paused, self._error, self.state = words, None, "disabled"
        self.tools, self.instructions, self.has_resources, self.is_cached = (), "", False, False
        self._known = self._offered = None
        self._end()
        self._settled.set()
        self._changed()

    async def ended(self) -> None:
        """Wait until `run` is over."""
        await self._ended.wait()

    @property
    def has_new_login(self) -> bool:
        """Whether it is not there for want of a login, and there are others than when it was asked."""
        return self.state == "needs-auth" and self._parts.logins() != self._logins

    async def _converse(self) -> None:
        """One conversation, from its beginning to its end."""
        self._logins = self._parts.logins()
        with anyio.CancelScope() as self._scope:
            try:
                async with self._parts.connect(self._verdict) as client:
                    await self._begin(client)
                    await self._follow(client)
            except CalibanError as error:
                self._fail(error)
        self._scope = None

    def _end(self) -> None:
        """End the conversation that there is: in order where it is connected, else at once."""
        self._over.set()
        scope = self._scope
        if self.client is not None:
            scope = self._relisting
            self.client.changes.close()
        if scope is not None:
            scope.cancel()

    def _settle(self) -> None:
        """It has told its tools, or will not; where it is to begin anew it still may."""
        if not self._wanted.is_set():
            self._settled.set()
        self._changed()

    async def settled(self) -> None:
        """Wait until it has told its tools, or will not."""
        self.begin()
        await self._settled.wait()

    async def connected(self) -> McpClient:
        """The conversation, once there is one; begun anew where a login has come. Raises `CalibanError`."""
        if self.has_new_login:
            self.restart()
        await self.settled()
        if self.client is None:
            raise self._error or ServerMissing(f"the server {self.name} is not connected")
        return self.client

    async def call(
        self, tool: str, args: Mapping[str, Any], on_update: OnUpdate, tool_use_id: str = ""
    ) -> CallResult:
        """Call a tool; what it has changed of the list is known when this returns. Raises `CalibanError`.

        The program that we run for is told which call of the model that is; nobody else is.
        """
        client = await self.connected()
        is_told = tool_use_id and self.config.kind == "sdk"
        meta = {TOOL_USE_ID: tool_use_id} if is_told else None
        try:
            return await client.call_tool(tool, args, on_update=on_update, meta=meta)
        finally:
            await self._up_to_date()

    async def prompts(self) -> tuple[McpPrompt, ...]:
        """What it has for a person to choose, asked once until it is another list. Raises `CalibanError`."""
        client = await self.connected()
        if self._prompts is None or self._prompts[0] is not client:
            listed = await client.list_prompts() if client.info.offers("prompts") else ()
            self._prompts = (client, tuple(listed))
        return self._prompts[1]

    async def _up_to_date(self) -> None:
        """Wait a moment for the list where the server has said that it is another."""
        for _ in range(4):
            await lowlevel.checkpoint()
        if self._is_stale and not self._over.is_set():
            with anyio.move_on_after(5):
                await self._listed.wait()

    async def _begin(self, client: McpClient) -> None:
        await self._list(client)
        self.client = client
        self.state = "connected"
        self._settle()

    async def _list(self, client: McpClient) -> None:
        known = self._known[0].tools if self._known else ()
        tools = tuple(await client.list_tools(known)) if client.info.offers("tools") else ()
        self.has_resources = client.info.offers("resources")
        instructions = client.info.instructions
        entry = self._parts.cache.fresh(
            info=client.info, verdict=client.verdict, tools=tools, has_resources=self.has_resources
        )
        if client.problems:
            self._tell("problems", names=tuple(client.problems)[:MAX_PROBLEMS])
        if self._known is not None and self._known[0].is_told_again(entry):
            judged = self._known[1]  # most runs need no file for it
        else:
            judged = await self._judged_now(entry, instructions)
        if judged is not self._offered:  # most lists are those of last time
            self._offer(judged)
        self._tell_what_waits(judged)

    async def _judged_now(self, entry: CachedServer, instructions: str) -> JudgedTools:
        """Keep a list that is another one, and judge it by what was let in."""
        await to_thread.run_sync(self._parts.cache.save, self._parts.key, entry)
        try:
            judged = await to_thread.run_sync(self._judge, entry.tools, instructions)
        except PinsUnusable as error:
            self._tell("pins_unusable", words=error.message, hint=error.hint or "")
            return JudgedTools(offered=())
        self._known = (entry, judged)
        return judged

    async def _follow(self, client: McpClient) -> None:
        count = 0
        async for change in client.changes:
            if self._over.is_set():
                return
            match change:
                case ToolsChanged() | ServerRestarted():
                    self._is_stale, self._listed = True, LazyEvent()
                    self._prompts = None if isinstance(change, ServerRestarted) else self._prompts
                    count += 1
                    with anyio.CancelScope() as self._relisting:
                        await self._list_anew(client, 1 if count > CALM_LISTS else 0)
                    self._relisting = None
                case PromptsChanged():
                    self._prompts = None
                case ServerLost(reason=reason):
                    self.client = None
                    self._fail(ServerMissing(f"the server {self.name} has ended: {reason}"))
                    self._over.set()
                    return
                case _:
                    continue

    async def _list_anew(self, client: McpClient, pause_s: float) -> None:
        await anyio.sleep(pause_s)
        try:
            await self._list(client)
        except CalibanError as error:
            self._tell("problems", names=(error.message,))
        self._is_stale = False
        self._listed.set()

    def _judge(self, tools: Sequence[McpTool], instructions: str) -> JudgedTools:
        config = self.config
        first = ServerPins(server=config.name, target=config.shown_target, instructions=instructions)
        return self._parts.pins.judge(config.identity, first, tools)

    def _offer(self, judged: JudgedTools) -> None:
        """Offer what counts. A tool that is as it was stays the same object."""
        taken = [(tool, standing) for tool, standing in judged.offered if self.config.takes(tool.name)]
        names = tool_names(
            self.name, (*(tool.name for tool, _ in judged.offered), *(t.name for t in judged.held))
        )
        before = {tool.tool.name: tool for tool in self.tools}
        offered = []
        for tool, standing in taken:
            is_new = standing == "new"
            old = before.get(tool.name)
            name = names[tool.name]
            called_so = old is not None and (old.spec.name, old.is_new) == (name, is_new)
            if old is not None and called_so and is_same_tool(old.tool, tool):
                offered.append(old)
                continue
            spec = spec_of(name, self.name, tool, lazy=self.config.lazy)
            offered.append(ServerTool(spec, tool, self, is_new=is_new))
        self._offered = judged
        self.instructions = judged.instructions
        self.tools = tuple(offered) if tuple(offered) != self.tools else self.tools
        self._changed()

    def _tell_what_waits(self, judged: JudgedTools) -> None:
        takes = self.config.takes
        held = tuple(tool.name for tool in judged.held if takes(tool.name))
        new = tuple(tool.name for tool, kind in judged.offered if kind == "new" and takes(tool.name))
        if held:
            self._tell("tools_held", names=held)
        if new:
            self._tell("tools_new", names=new)
        if judged.instructions_changed:
            self._tell("instructions_held")

    def _tell(self, kind: Any, *, words: str = "", hint: str = "", names: tuple[str, ...] = ()) -> None:
        """Report something, once in a run."""
        if (kind, names) not in self._told:
            self._told.add((kind, names))
            self._parts.report(ServerNews(kind=kind, server=self.name, words=words, hint=hint, names=names))

    def _fail(self, error: CalibanError) -> None:
        if self._paused:
            return
        self._error = error
        kind = error.kind if isinstance(error, ConnectError) else ""
        self.state = "needs-auth" if kind == "unauthorized" else "failed"
        # Tools that the model was shown stay: their calls say what is wrong, and the prompt begins as before.
        if kind == "timed_out":
            self._parts.cache.silent(self._parts.key)
        self._settle()
        if not self._over.is_set():
            self._tell("failed", words=error.message, hint=error.hint or "")
