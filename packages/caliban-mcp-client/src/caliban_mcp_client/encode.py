"""Requests and answers as bytes of the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from caliban_common.text import clean
from caliban_mcp_client.target import ServerOptions

PREFIX: Final = "io.modelcontextprotocol/"
INTERNAL: Final = -32603
NAMED_BY: Final[Mapping[str, str]] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose object an HTTP header names, and the member that has the name."""


class Outgoing(Struct, frozen=True, kw_only=True):
    """One message of ours: `number` for a request, `method` for a request or notification, `body` as sent.

    `version` is what goes into the header of HTTP; `headers` come on top there.
    """

    body: bytes
    number: int | None = None
    method: str = ""
    name: str | None = None
    version: str = ""
    is_modern: bool = False
    headers: Mapping[str, str] = {}


def declared(options: ServerOptions) -> dict[str, Any]:
    """What we offer to a server: only what is on, for servers choose their tools by it."""
    capabilities: dict[str, Any] = {}
    if options.elicitation:
        capabilities["elicitation"] = {form: {} for form in options.elicitation}
    if options.roots:
        capabilities["roots"] = {}
    if options.sampling:
        capabilities["sampling"] = {}
    if options.extensions:
        capabilities["extensions"] = {name: {} for name in options.extensions}
    return capabilities


def client_info(options: ServerOptions) -> dict[str, str]:
    """Who we say that we are."""
    return {"name": options.client_name, "version": options.client_version}


def modern_meta(options: ServerOptions, version: str) -> dict[str, Any]:
    """What each request of the modern era carries."""
    meta: dict[str, Any] = {
        f"{PREFIX}protocolVersion": version,
        f"{PREFIX}clientCapabilities": declared(options),
        f"{PREFIX}clientInfo": client_info(options),
    }
    if options.log_level is not None:
        meta[f"{PREFIX}logLevel"] = options.log_level
    return meta


def request_body(number: int, method: str, params: Mapping[str, Any]) -> bytes:
    """A request; without parameters it has no member for them."""
    frame: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
    if params:
        frame["params"] = params
    return encoded(frame)


def notice_body(method: str, params: Mapping[str, Any]) -> bytes:
    """A notification."""
    frame: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if params:
        frame["params"] = params
    return encoded(frame)


def answer_body(number: object, result: Mapping[str, Any]) -> bytes:
    """An answer to a request of the server's; `number` is as it came."""
    return encoded({"jsonrpc": "2.0", "id": number, "result": result})


def error_body(number: object, code: int, words: str) -> bytes:
    """An error in the place of an answer."""
    return encoded({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": words}})


def encoded(frame: Mapping[str, Any]) -> bytes:
    """One line of JSON without its end; halves of surrogate pairs become U+FFFD."""
    try:
        return msgspec.json.encode(frame)
    except UnicodeEncodeError:
        import json

        return clean(json.dumps(frame, ensure_ascii=False, separators=(",", ":"))).encode()
