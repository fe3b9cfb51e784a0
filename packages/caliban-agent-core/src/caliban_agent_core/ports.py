"""The questions that travel upward from a run, each a port with one method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from caliban_common.event import Warned
from caliban_common.message import Message, ToolUseBlock
from caliban_common.permission import Decision
from caliban_common.stop import Stop
from caliban_common.tool import ToolSpec
from caliban_common.usage import Usage
from caliban_provider.provider import Provider


class Rules(Protocol):
    """May this call run? Answered from rules alone: quick, pure, never waiting for anyone."""

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision | Awaitable[Decision]:
        """The verdict; `ask` goes on to the approver. What it raises counts as `deny`."""
        ...


@runtime_checkable
class RulesWithModel(Rules, Protocol):
    """Rules that ask a model about what they leave open."""

    def without_model(self) -> Rules:
        """The same rules, for a call that a hook leaves to a person: no model is asked about that."""
        ...


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """A call that the rules leave to a person. `call` carries the exact input that would run.

    `agent` is whose call it is, empty for the main one. `suggestions` are the rules that would let such calls
    run without a question, one for each part that nothing allows yet: where there are none, no rule should
    last. How far an answer reaches is one of `caliban_common.permission.ANSWER_SCOPES`; what lasts longer
    than the call is the approver's to keep.
    """

    call: ToolUseBlock
    tool: ToolSpec
    reason: str
    agent: str = ""
    suggestions: tuple[str, ...] = ()


class Approver(Protocol):
    """May this call run? Answered by a person or in a person's name."""

    async def approve(self, request: ApprovalRequest) -> Decision:
        """`allow`, `deny`, or `ask` where the answer comes later: the run then ends and can be resumed.

        An allow may carry another input: that is judged again, and runs unless it is denied.
        Several may be asked for at once. What it raises counts as `deny`.
        """
        ...


class JudgedCall(Struct, frozen=True, kw_only=True):
    """A call and the last word on it, for a log. `agent` is empty for the main one; `turn` is from 0."""

    session_id: str
    agent: str
    turn: int
    call: ToolUseBlock
    decision: Decision


class DecisionLog(Protocol):
    """Keeps what was decided about tool calls."""

    def record(self, judged: JudgedCall) -> str | None:
        """Called once for each call, before it runs; why it must not, where it had to be kept and was not.

        Quick, and raises nothing.
        """
        ...


class Compactor(Protocol):
    """Makes a history shorter."""

    async def compact(
        self,
        messages: tuple[Message, ...],
        *,
        model: str,
        provider: Provider,
        target_tokens: int,
        spent: Callable[[Usage], None] | None = None,
    ) -> tuple[Message, ...]:
        """A shorter history that means the same; `spent` is told what that cost.

        Raises `CompactionFailed`; the old history is then kept.
        """
        ...


Boundary: TypeAlias = Literal["turn", "end"]
"""Where a run can be spoken to: before a further turn, or when the model has said its last word."""


class InputSource(Protocol):
    """What does the user say next? Asked at the boundaries of turns, never while the model speaks."""

    async def next(self, boundary: Boundary) -> tuple[Message, ...]:
        """The messages that the model is to read now, each given once; at `end`, none lets the run end.

        They enter the history as they are: whoever gives them has asked the hooks. Waits for no person.
        """
        ...


class Ledger(Protocol):
    """May this model call be paid for? Asked before each call of every agent, and told after it."""

    async def before_call(
        self, *, provider: str, model: str, prompt_tokens: int, max_tokens: int, agent: str = ""
    ) -> int | Stop:
        """Leave to make a call, as the number to settle it by, or how the run ends instead.

        May wait for other calls to end. Cancelling the wait leaves nothing to settle.
        """
        ...

    def after_call(self, number: int, usage: Usage, *, seen_output_tokens: int = 0) -> Warned | None:
        """Call `number` ended, well or not; `seen_output_tokens` estimates a reply whose usage was not told.

        Returns what a person should know of it.
        """
        ...
