"""The system prompt of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from caliban.cli.options import SystemOptions
from caliban.errors import MissingError, UsageError
from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError, DataError
from caliban_common.files import read_regular
from caliban_common.message import Message, system

if TYPE_CHECKING:
    from caliban.compose.context import ContextPiece
    from caliban_output_styles import OutputStyle

MAX_BYTES = 1 << 20
PLAIN = "You are a helpful assistant. Answer briefly and plainly."
WITH_TOOLS = """\
You are an assistant that works in a terminal through the caliban harness. You help with software and files \
by calling tools.

Working directory: {workspace}"""
HOW_TO_WORK = """\


How to work:
- Look before you claim: say nothing of a file that you have not read in this conversation.
- Read a file before you change it. Change only what the task needs, in the style that is there.
- Paths may be absolute, relative to the working directory, or begin with ~.
- Calls that do not depend on each other belong in one reply: they run side by side.
- A denied call was refused by the person's rules: find another way or say what you would need.
- Ask before anything that destroys data or cannot be undone.
- Write for a terminal: short, without decoration. When the work is done, say what was done and stop."""
"""Names no tool: each describes itself, and one that comes late must not cost the cached prefix (0019)."""
OWN_BEGINNINGS = (PLAIN, WITH_TOOLS.split("\n", 1)[0])
PIECES = ("<managed-claude-md ", "<global-claude-md ", "<project-", "<auto-memory-index ", "<output-style ")
"""How pieces begin that stand before our own instructions."""


def build_system(pieces: Sequence[ContextPiece]) -> Message | None:
    """The system message of the `pieces` of a context; `None` where there are none."""
    return system("\n\n".join(piece.text for piece in pieces)) if pieces else None


def instructions(
    options: SystemOptions, workspace: Path, *, has_tools: bool, style: OutputStyle | None = None
) -> tuple[str, str] | None:
    """What the program tells the model, or a flag in its place, with where that is from.

    A `style` may take the place of how to work. `None` for `--no-system`. Raises `MissingError`, `UsageError`
    for a file.
    """
    if options.no_system:
        return None
    if options.system is not None:
        return "--system", options.system
    if options.system_file is not None:
        try:
            text = decode_text(read_regular(Path(options.system_file), max_bytes=MAX_BYTES))
        except DataError as error:
            raise UsageError(f"--system-file: {error.message}", hint=error.hint) from error
        except CalibanError as error:
            raise MissingError(f"--system-file: {error.message}") from error
        return f"--system-file {options.system_file}", text
    if not has_tools:
        return "caliban", PLAIN
    how = HOW_TO_WORK if style is None or style.keeps_coding else ""
    return "caliban", WITH_TOOLS.format(workspace=workspace) + how


def is_default(messages: Sequence[Message]) -> bool:
    """Whether the history `messages` begins with a system prompt that `build_system` wrote by itself.

    Such a prompt names a directory (and, of earlier versions, tools), and is written anew where that may have
    changed.
    """
    first = messages[0] if messages else None
    return first is not None and first.role == "system" and _is_own(first.text)


def _is_own(text: str) -> bool:
    """Whether our own instructions stand at the beginning, or behind the pieces of a context."""
    if text.startswith(OWN_BEGINNINGS):
        return True
    return text.startswith(PIECES) and any(f">\n\n{words}" in text for words in OWN_BEGINNINGS)
