"""What happens to servers, in words for a person."""

from __future__ import annotations

from typing import assert_never

from caliban_common.text import one_line, plural
from caliban_drive.notice import Notice
from caliban_mcp.status import ServerNews

MAX_NAMES = 8


def notice_of(event: ServerNews, *, is_written: bool = True) -> Notice:
    """The notice that tells of `event`; of a server that no file has written no command knows."""
    name = event.server
    review = f"caliban mcp review {name} shows the difference"
    match event.kind:
        case "failed":
            words = f"the MCP server {name} is not there: {one_line(event.words, max_chars=400)}"
            doctor = f"caliban mcp doctor {name} says more" if is_written else ""
            return _notice("mcp_failed", words, event.hint or doctor)
        case "tools_held":
            words = f"the MCP server {name} says something else than before of {_names(event)}: not offered"
            return _notice("mcp_tools_held", words, review)
        case "tools_new":
            words = f"the MCP server {name} has {plural(len(event.names), 'new tool')}: {_names(event)}"
            hint = f"rules for several tools do not mean them until caliban mcp review {name} has let them in"
            return _notice("mcp_tools_new", words, hint)
        case "instructions_held":
            words = f"the MCP server {name} has other instructions than before: the model is not told them"
            return _notice("mcp_instructions_held", words, review)
        case "pins_unusable":
            return _notice("mcp_pins", event.words, event.hint)
        case "declined":
            words = f"the MCP server {name} asked a question, which was declined: {event.words}"
            return _notice("mcp_declined", words, "")
        case "answered":
            words = f"the MCP server {name} asked a question, and no person has seen it: {event.words}"
            return _notice("mcp_answered", words, "")
        case "problems":
            words = (
                f"the MCP server {name}: {'; '.join(one_line(text, max_chars=200) for text in event.names)}"
            )
            return _notice("mcp_problems", words, f"caliban mcp doctor {name} shows all of it")
        case _:
            assert_never(event.kind)


def _notice(subtype: str, message: str, hint: str) -> Notice:
    return Notice(subtype=subtype, message=message, hint=hint or None)


def _names(event: ServerNews) -> str:
    names = [one_line(name, max_chars=64) for name in event.names]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
