"""A result written by hand, for a process that ends before anything that could make one is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

SHORT_OF_FILES: Final = "caliban could not start: the system gave it no file to open; look at ulimit -n"
NOT_WHOLE: Final = "caliban could not go on: a part of it, or of what it needs, is missing; install it again"

_INIT: Final = (
    '{"type":"system","subtype":"init","session_id":"","model":"","tools":[],"plugins":[],"settingSources":[],'
    '"mcp_servers":[],"bare_mode":false,"cwd":"","permission_mode":"default"}\n'
)
_RESULT: Final = (
    '{"type":"result","subtype":"%s","is_error":true,"session_id":"","total_cost_usd":0.0,"turns":0,'
    '"num_turns":0,"total_input_tokens":0,"total_output_tokens":0,"duration_ms":0,"duration_api_ms":0,'
    '"usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"input_tokens":0,"output_tokens":0},'
    '"model_usage":{},"permission_denials":[],%s"tool_calls_seen":0,"turns_without_edit":0,'
    '"no_edit_nudge_emitted":false}\n'
)
FRAMED: Final = "stream-json"
ONE_OBJECT: Final = "json"


class OutputState:
    """How far standard output is: whether its beginning and its result were written."""

    def __init__(self) -> None:
        self.has_begun = False
        self.has_result = False


def wanted_format(arguments: Sequence[str]) -> str | None:
    """The output format that the arguments name, whether or not the rest of them make sense."""
    named: str | None = None
    for position, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == "--output-format" and position + 1 < len(arguments):
            named = arguments[position + 1]
        elif argument.startswith("--output-format="):
            named = argument.split("=", 1)[1]
    return named


def cancelled_words(format_name: str | None, state: OutputState) -> bytes:
    """What is still to be written where a signal ends the process at once."""
    return _words(format_name, state, _RESULT % ("cancelled", ""))


def failed_words(format_name: str | None, state: OutputState, reason: str) -> bytes:
    """What is still to be written where something could not be loaded; `reason` has no quotation marks."""
    return _words(format_name, state, _RESULT % ("error", f'"error":"{reason}",'))


def _words(format_name: str | None, state: OutputState, result: str) -> bytes:
    if state.has_result or format_name not in (FRAMED, ONE_OBJECT):
        return b""
    begins = format_name == FRAMED and not state.has_begun
    return f"{_INIT if begins else ''}{result}".encode()
