"""Requests of the program on the other end: `control_request` frames in, `control_response` frames out.

Each is answered once: in its turn between two prompts or, where it changes nothing of a conversation, at
once. What is not known is answered, too, as an error that names it: a host that waits for an answer must not
wait for ever.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.event import Warned
from caliban_common.text import one_line
from caliban_headless.errors import BadInput
from caliban_headless.notices import RESPONSE

CONTROLS: Final = ("interrupt", "stop_task", "compact", "undo_compaction")
"""What frames of the type `control` ask for, and no request does."""

Serve: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Does what a request of one subtype asks for; what is answered. Raises `CalibanError`."""


class HostRequest(Struct, frozen=True, kw_only=True):
    """What the other end asks for: `serve` does it with the members in `body`.

    Without it nobody does; it is answered all the same, and at once. What is done `at_once` waits for no
    prompt.
    """

    id: str
    subtype: str
    body: Mapping[str, Any]
    serve: Serve | None = None
    at_once: bool = False

    async def answer(self) -> Warned:
        """Do what is asked for; the event that becomes the answer's frame."""
        try:
            if self.serve is None:
                raise BadInput(_unserved(self.subtype))
            response: dict[str, Any] = {
                "subtype": "success",
                "request_id": self.id,
                "response": await self.serve(self.body),
            }
        except CalibanError as error:
            response = {"subtype": "error", "request_id": self.id, "error": one_line(error.message)}
        return Warned(subtype=RESPONSE, message="", details={"response": response})


def _unserved(subtype: str) -> str:
    if subtype in CONTROLS:
        return f'{subtype} is asked for with a frame of its own: {{"type":"control","subtype":"{subtype}"}}'
    return f"control requests of {subtype!r} are not part of this version"


class Answered(Struct, frozen=True, kw_only=True):
    """A request that was done while no prompt ran; see `HostRequest`."""

    event: Warned

    async def answer(self) -> Warned:
        """The event that becomes the answer's frame."""
        return self.event


def read_request(
    line: bytes, served: Mapping[str, Serve], at_once: Mapping[str, Serve] = MappingProxyType({})
) -> HostRequest | None:
    """The request in a line of input, where it is one. Raises `BadInput` for one that cannot be answered."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.get("type") != "control_request":
        return None
    id, body = data.get("request_id"), data.get("request")
    if not isinstance(id, str) or not id:
        raise BadInput("a control_request names no request_id: nobody could be answered")
    members = body if isinstance(body, dict) else {}
    subtype = members.get("subtype")
    name = one_line(subtype, max_chars=60) if isinstance(subtype, str) else ""
    now = at_once.get(name)
    serve = served.get(name) if now is None else now
    return HostRequest(
        id=id, subtype=name, body=members, serve=serve, at_once=now is not None or serve is None
    )
