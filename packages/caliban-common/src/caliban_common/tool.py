"""What a tool is: a spec the model reads, and one method the loop calls.

Tools are structural: any object with these members is one, and nobody needs to import the loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct, field

from caliban_common.message import ImageBlock, TextBlock

ToolKind: TypeAlias = Literal["read", "edit", "execute", "network", "other"]
"""What a call can do at most: `read` runs in plan mode, `edit` counts as progress on files."""


class ToolSpec(Struct, frozen=True, kw_only=True):
    """What the model and the gate know of a tool.

    `main_argument` is the input field that permission patterns such as `Bash:git *` match.
    `input_schema` is a JSON Schema of type object.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    kind: ToolKind = "other"
    main_argument: str | None = None


class ToolContext(Struct, frozen=True, kw_only=True):
    """Where a call stands: the session, the turn (from 0) and the call's id."""

    session_id: str
    turn: int
    tool_use_id: str


class ToolOutput(Struct, frozen=True, kw_only=True):
    """What a call gave: `content` for the model, `details` for a screen. Failure is a value."""

    content: tuple[TextBlock | ImageBlock, ...]
    is_error: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str, *, is_error: bool = False, details: Mapping[str, Any] | None = None) -> ToolOutput:
        """An output of one text block."""
        return cls(content=(TextBlock(text=text),), is_error=is_error, details=details or {})

    @property
    def text(self) -> str:
        """The text blocks, joined without a separator."""
        return "".join(block.text for block in self.content if isinstance(block, TextBlock))


class Tool(Protocol):
    """One tool.

    `invoke` raises nothing for what the model did wrong: it returns an output with `is_error`. It is
    cancelled by its scope and must leave no process and no half-written file behind.
    """

    @property
    def spec(self) -> ToolSpec:
        """The tool's spec; the same value on every call."""
        ...

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """Calls with the same key never run at once; `None` conflicts with nothing."""
        ...

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Run the call. `args` is the decoded input of the model: a JSON object, not yet validated."""
        ...
