"""Following what changes at a server, in the way of its era, for as long as the conversation lasts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import anyio

from caliban_mcp_client.errors import CallError, CallLost, HttpRefused, McpError
from caliban_mcp_client.link import CallTiming, Link
from caliban_mcp_client.news import Changes
from caliban_mcp_client.target import ServerOptions
from caliban_mcp_client.values import Change, PromptsChanged, ResourcesChanged, ServerInfo, ToolsChanged

_FOREVER: Final = float("inf")
_FIRST_PAUSE_S: Final = 0.25
_LAST_PAUSE_S: Final = 30.0
_QUICK_S: Final = 5.0
_ANSWER_S: Final = 30.0
_LISTS: Final[tuple[tuple[str, str, Change], ...]] = (
    ("tools", "toolsListChanged", ToolsChanged()),
    ("prompts", "promptsListChanged", PromptsChanged()),
    ("resources", "resourcesListChanged", ResourcesChanged()),
)


class Subscription:
    """What is followed: the lists that may change, and resources by their URI."""

    def __init__(self, options: ServerOptions, changes: Changes) -> None:
        self._options = options
        self._changes = changes
        self._uris: dict[str, None] = {}
        self._renewed = anyio.Event()

    async def add(self, link: Link, uri: str) -> None:
        """Follow a resource too. Raises `McpError` where the server refuses (legacy)."""
        if uri in self._uris:
            return
        self._uris[uri] = None
        if link.is_modern:
            self._renewed.set()
        else:
            await self._legacy(link, "resources/subscribe", uri)

    async def remove(self, link: Link, uri: str) -> None:
        """Follow it no more."""
        if uri not in self._uris:
            return
        del self._uris[uri]
        if link.is_modern:
            self._renewed.set()
        else:
            await self._legacy(link, "resources/unsubscribe", uri)

    def has_work(self, link: Link) -> bool:
        """Whether there is anything to `follow`: a task for it costs as much as a request."""
        return link.is_modern or bool(self._uris) or self._options.log_level is not None

    async def follow(self, link: Link, info: ServerInfo) -> None:
        """Follow until the conversation ends; what was followed before is followed again."""
        if link.is_modern:
            await self._listen(link, info)
            return
        if self._options.log_level is not None and info.offers("logging"):
            await self._ask(link, "logging/setLevel", {"level": self._options.log_level})
        for uri in tuple(self._uris):
            await self._ask(link, "resources/subscribe", {"uri": uri})

    async def _ask(self, link: Link, method: str, params: Mapping[str, Any]) -> None:
        """Ask for what is no matter of life and death."""
        try:
            await link.request(method, params, CallTiming(idle_s=_ANSWER_S, limit_s=_ANSWER_S))
        except McpError as error:
            link.note("what the server refused to do", error.message)

    async def _legacy(self, link: Link, method: str, uri: str) -> None:
        await link.request(method, {"uri": uri}, CallTiming(idle_s=_ANSWER_S, limit_s=_ANSWER_S))

    async def _listen(self, link: Link, info: ServerInfo) -> None:
        """Keep a stream of changes open; one that ends at once is asked for ever more seldom."""
        pause_s = _FIRST_PAUSE_S
        while not link.ended.is_set():
            self._renewed = anyio.Event()
            wanted = self._wanted(info)
            if not wanted:
                await self._renewed.wait()
                continue
            began = anyio.current_time()
            if not await self._stream(link, wanted):
                return
            if self._renewed.is_set():
                continue
            if anyio.current_time() - began > _QUICK_S:
                pause_s = _FIRST_PAUSE_S
            await anyio.sleep(pause_s)
            pause_s = min(_LAST_PAUSE_S, pause_s * 2)
            for change in self._missed(info):  # nobody knows what it did not tell
                self._changes.put(change)

    async def _stream(self, link: Link, wanted: dict[str, Any]) -> bool:
        """One stream, until it ends or something else is followed; False where there is none to be had."""
        timing = CallTiming(idle_s=_FOREVER, limit_s=_FOREVER)
        goes_on = True
        async with anyio.create_task_group() as group:

            async def stream() -> None:
                nonlocal goes_on
                try:
                    await link.request("subscriptions/listen", {"notifications": wanted}, timing)
                except (CallLost, HttpRefused) as error:
                    goes_on = isinstance(error, CallLost) or error.status >= 500
                except (CallError, McpError) as error:
                    link.note("changes that cannot be followed", error.message)
                    goes_on = False
                group.cancel_scope.cancel()

            group.start_soon(stream)
            await self._renewed.wait()
            group.cancel_scope.cancel()
        return goes_on

    def _wanted(self, info: ServerInfo) -> dict[str, Any]:
        wanted: dict[str, Any] = {
            name: True for capability, name, _ in _LISTS if info.offers(capability, "listChanged")
        }
        if self._uris:
            wanted["resourceSubscriptions"] = list(self._uris)
        return wanted

    def _missed(self, info: ServerInfo) -> list[Change]:
        return [change for capability, _, change in _LISTS if info.offers(capability, "listChanged")]
