"""Hooks that are tools of MCP servers; their text is read like a program's output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import anyio
from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.lazy import lazy_pattern
from caliban_common.text import one_line
from caliban_hooks.answer import HookAnswer, ProgramEnd, program_answer
from caliban_hooks.errors import HookFailed
from caliban_hooks.ports import ServerTools
from caliban_hooks.spec import HookSpec

_MEMBER: Final = lazy_pattern(r"\$\{([\w.]+)\}", 256)  # re.ASCII


class ServerCalls(Struct, frozen=True, kw_only=True):
    """Calls tools of servers for hooks."""

    tools: ServerTools

    async def ask(self, spec: HookSpec, event: bytes) -> HookAnswer:
        """The answer of a tool that is told `event`. Raises `HookFailed`."""
        payload = json.loads(event)
        args = _filled(spec.input, payload) if spec.input else payload
        text = None
        try:
            with anyio.move_on_after(spec.timeout_s):
                text = await self.tools.call(spec.server, spec.tool, args)
        except CalibanError as error:
            raise HookFailed(one_line(error.message)) from error
        if text is None:
            raise HookFailed(f"{spec.server} did not answer within {spec.timeout_s:g} s")
        end = ProgramEnd(exit_code=0, stdout=text.encode("utf-8", "replace"), stderr="")
        return program_answer(spec.event, end, strict=True)


def _filled(value: Any, event: Mapping[str, Any]) -> Any:
    """`value` with members of the event in the place of their names, as in `${tool_input.file_path}`."""
    match value:
        case str():
            return _MEMBER.sub(lambda match: _member(event, match[1]), value)
        case Mapping():
            return {name: _filled(member, event) for name, member in value.items()}
        case list() | tuple():
            return [_filled(member, event) for member in value]
        case _:
            return value


def _member(event: Any, path: str) -> str:
    for name in path.split("."):
        event = event.get(name) if isinstance(event, Mapping) else None
    return event if isinstance(event, str) else "" if event is None else json.dumps(event)
