"""The context of a run in one place: which pieces the system prompt is made of, and in which order.

A piece more is a row more in `ROWS`. The pieces are put together once, when a session begins: what they give
must not change from turn to turn, for all of it is cached (ADR 0017). What comes up later is a message.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from caliban.cli.options import SystemOptions
from caliban.compose.memory.run import RunMemory
from caliban.compose.system import instructions
from caliban_common.estimate import text_tokens

if TYPE_CHECKING:
    from caliban_output_styles import OutputStyle


class ContextPiece(Struct, frozen=True, kw_only=True):
    """One piece of the system prompt: its kind, where it comes from, and its text."""

    kind: str
    source: str
    text: str

    @property
    def tokens(self) -> int:
        """The estimate: four bytes make one."""
        return text_tokens(self.text)


class ContextInputs(Struct, frozen=True, kw_only=True):
    """What pieces are made of."""

    options: SystemOptions
    workspace: Path
    memory: RunMemory
    style: OutputStyle | None = None
    has_tools: bool


class ContextRow(Struct, frozen=True, kw_only=True):
    """A kind of piece: `make` gives those of a run, none where there are none.

    A person's own system prompt takes the place of those that are not `kept` beside it.
    """

    kind: str
    make: Callable[[ContextInputs], tuple[ContextPiece, ...]]
    kept: bool = False


def _memory(inputs: ContextInputs) -> tuple[ContextPiece, ...]:
    return tuple(
        ContextPiece(kind=f"memory: {file.tier}", source=str(file.path), text=text)
        for file, text in inputs.memory.texts()
    )


def _style(inputs: ContextInputs) -> tuple[ContextPiece, ...]:
    style = inputs.style
    if style is None or not style.body:
        return ()
    return (ContextPiece(kind="output style", source=style.name, text=style.block().rstrip()),)


def _instructions(inputs: ContextInputs) -> tuple[ContextPiece, ...]:
    """What the program says itself, or what a flag says in its place. Raises as `instructions` does."""
    piece = instructions(inputs.options, inputs.workspace, has_tools=inputs.has_tools, style=inputs.style)
    return () if piece is None else (ContextPiece(kind="instructions", source=piece[0], text=piece[1]),)


ROWS: Final = (
    ContextRow(kind="memory", make=_memory),
    ContextRow(kind="output style", make=_style),
    ContextRow(kind="instructions", make=_instructions, kept=True),
)
"""Every kind of piece, in the order of the prompt (guide: memory, then the style, then the instructions)."""


def context_pieces(inputs: ContextInputs, rows: tuple[ContextRow, ...] = ROWS) -> tuple[ContextPiece, ...]:
    """The pieces of the system prompt, in order; none for `--no-system`."""
    if inputs.options.no_system:
        return ()
    own = inputs.options.is_given
    return tuple(piece for row in rows if row.kept or not own for piece in row.make(inputs))
