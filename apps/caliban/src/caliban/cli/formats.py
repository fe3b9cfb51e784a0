"""The formats of output and input as data: the flags, the help and the face go by these rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from caliban.cli.options import OutputOptions
    from caliban_headless.run import OutputEncoder


class OutputFormat:
    """A format of output: a new one is a row and its encoder.

    `encoder` is the `module:function` that makes the encoder from the `OutputOptions`; only the one asked for
    is loaded. `is_data` says that a program reads it: an error is a result as well, and costs are named.
    `holds_notices` says that what a person should know stands in it, and not on standard error.
    """

    __slots__ = ("encoder", "holds_notices", "is_data", "name", "summary")

    def __init__(
        self, name: str, summary: str, encoder: str, *, is_data: bool = False, holds_notices: bool = False
    ) -> None:
        self.name: Final = name
        self.summary: Final = summary
        self.encoder: Final = encoder
        self.is_data: Final = is_data
        self.holds_notices: Final = holds_notices

    def load(self) -> Callable[[OutputOptions], OutputEncoder]:
        """What makes the encoder."""
        module, _, name = self.encoder.partition(":")
        make: Callable[[OutputOptions], OutputEncoder] = getattr(import_module(module), name)
        return make


class InputFormat:
    """What standard input may hold. With `is_framed` the prompts come in frames, one after the other."""

    __slots__ = ("is_framed", "name", "summary")

    def __init__(self, name: str, summary: str, *, is_framed: bool = False) -> None:
        self.name: Final = name
        self.summary: Final = summary
        self.is_framed: Final = is_framed


OUTPUT_FORMATS: Final = (
    OutputFormat("text", "the answer", "caliban.faces.encoders:text"),
    OutputFormat("json", "one JSON object at the end", "caliban.faces.encoders:json", is_data=True),
    OutputFormat(
        "stream-json",
        "a JSON frame a line, as things happen",
        "caliban.faces.encoders:stream_json",
        is_data=True,
        holds_notices=True,
    ),
)
"""The first is the default."""

INPUT_FORMATS: Final = (
    InputFormat("text", "the prompt, or what belongs to it"),
    InputFormat("stream-json", "a JSON frame a line, each with a prompt", is_framed=True),
)


def output_format(name: str | None, formats: Sequence[OutputFormat] = OUTPUT_FORMATS) -> OutputFormat:
    """The row of the format `name`, else the first."""
    return next((row for row in formats if row.name == name), formats[0])


def input_format(name: str, formats: Sequence[InputFormat] = INPUT_FORMATS) -> InputFormat:
    """The row of the format `name`, else the first."""
    return next((row for row in formats if row.name == name), formats[0])


def names_of(formats: Sequence[OutputFormat] | Sequence[InputFormat]) -> tuple[str, ...]:
    """Their names."""
    return tuple(row.name for row in formats)
