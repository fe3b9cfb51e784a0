"""WebSearch: ranked results of a search service that the person has a key for."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

import anyio
from msgspec import Struct

from caliban_common.arguments import ArgumentError, Arguments
from caliban_common.lazy import lazy_pattern
from caliban_common.text import clean, one_line, plural
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.errors import WebFailed
from caliban_tools_builtin.web.fetch import opened
from caliban_tools_builtin.web.ports import SearchService, WebClient

MAX_BODY_BYTES: Final = 2_000_000
MAX_QUERY_CHARS: Final = 400
DEFAULT_RESULTS: Final = 10
MAX_RESULTS: Final = 20
TIMEOUT_S: Final = 60
SNIPPET_CHARS: Final = 500
_TAG: Final = lazy_pattern(r"<[^>]{0,100}>")


class SearchRequest(Struct, frozen=True, kw_only=True):
    """What a service is asked, and the path of the list in its answer."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    path: tuple[str, ...]
    snippet: str


class WebSearch:
    """The tool WebSearch. `service` says at each call who is asked."""

    def __init__(self, service: Callable[[], SearchService]) -> None:
        self._service = service

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: searches run side by side."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Search; see `Tool`."""
        return await answered(lambda: self._search(args))

    async def _search(self, args: Mapping[str, Any]) -> ToolOutput:
        given = Arguments(args, known=("query", "max_results"))
        query = given.string("query").strip()
        if not 0 < len(query) <= MAX_QUERY_CHARS:
            raise ArgumentError(f"the query must have 1 to {MAX_QUERY_CHARS} characters")
        count = given.integer("max_results", DEFAULT_RESULTS, low=1, high=MAX_RESULTS)
        service = self._service()
        if not service.key:
            raise WebFailed(f"there is no key for {service.name}", hint=service.advice)
        request = search_request(service, clean(query), count)
        with anyio.move_on_after(TIMEOUT_S):
            async with opened(service.client) as client:
                data = await _asked(client, request, service)
            return _listed(query, service, _at(data, request.path)[:count], request.snippet)
        raise WebFailed(f"{service.name} did not answer within {TIMEOUT_S} s")


def search_request(service: SearchService, query: str, count: int) -> SearchRequest:
    """How `service` is asked, by its documentation. The key stands in a header only."""
    headers = {"accept": "application/json"}
    posted = {**headers, "content-type": "application/json"}
    match service.name:
        case "tavily":
            body: dict[str, Any] = {"query": query, "max_results": count}
            headers, path, snippet = (
                {**posted, "authorization": f"Bearer {service.key}"},
                "/search",
                "content",
            )
        case "exa":
            body = {
                "query": query,
                "numResults": count,
                "contents": {"text": {"maxCharacters": SNIPPET_CHARS}},
            }
            headers, path, snippet = {**posted, "x-api-key": service.key}, "/search", "text"
        case _:
            return SearchRequest(
                method="GET",
                url=f"{service.base_url}/res/v1/web/search?{urlencode({'q': query, 'count': count})}",
                headers={**headers, "x-subscription-token": service.key},
                body=b"",
                path=("web", "results"),
                snippet="description",
            )
    return SearchRequest(
        method="POST",
        url=f"{service.base_url}{path}",
        headers=headers,
        body=json.dumps(body).encode(),
        path=("results",),
        snippet=snippet,
    )


async def _asked(client: WebClient, request: SearchRequest, service: SearchService) -> Any:
    async with client.stream(
        request.method, request.url, headers=request.headers, body=request.body
    ) as answer:
        body = await answer.read(MAX_BODY_BYTES)
    if answer.status in (401, 403):
        raise WebFailed(f"{service.name} refuses the key (status {answer.status})", hint=service.advice)
    if answer.status == 429:
        raise WebFailed(f"{service.name} wants no more searches for now (status 429)")
    if not 200 <= answer.status < 300:
        raise WebFailed(f"{service.name} answers with status {answer.status}: {_words(body)}")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WebFailed(f"{service.name} does not answer in JSON: {_words(body)}") from error


def _at(data: Any, path: tuple[str, ...]) -> tuple[Mapping[str, Any], ...]:
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return tuple(item for item in data if isinstance(item, Mapping)) if isinstance(data, list) else ()


def _listed(
    query: str, service: SearchService, items: tuple[Mapping[str, Any], ...], snippet: str
) -> ToolOutput:
    lines = [f"→ WebSearch {one_line(query)!r} ({service.name}): {plural(len(items), 'result')}"]
    for number, item in enumerate(items, 1):
        title, url, text = (_plain(item.get(name)) for name in ("title", "url", snippet))
        lines += filter(None, (f"{number}. {title or url}", f"   {url}", f"   {text}" if text else ""))
    return ToolOutput.of(clean("\n".join(lines)), details={"results": len(items), "service": service.name})


def _plain(value: object) -> str:
    """A text of the answer on one line, without its marks."""
    return (
        one_line(html.unescape(_TAG.sub("", value)), max_chars=SNIPPET_CHARS)
        if isinstance(value, str)
        else ""
    )


def _words(body: bytes) -> str:
    return one_line(body[:1000].decode("utf-8", "replace"), max_chars=200) or "nothing"
