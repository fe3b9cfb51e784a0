"""What stands on the lines of a recording, one JSON object each; `type` tells them apart.

    recording                              the first: version, and the scene that the run began with
    prompt · operation · input_end …       what the run was asked
    request → reply … reply | reply_error  a model call: what was sent, then what came, piece by piece
    call → result                          a tool call
    decision · notice · costs · action     what else came from outside of the loop
    end                                    the last, where the run came to its end

Whatever the loop waits for has its place in the order of the lines (`ORDERED`), and time goes by only there:
so a run that is played again reads the same clock at the same places.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, field

from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_agent_core.toolsearch.active import Deferral
from caliban_common.message import DocumentBlock, ImageBlock, Message, TextBlock
from caliban_common.permission import Decision
from caliban_common.remedy import Remedy
from caliban_common.tagged import Tagged
from caliban_common.tool import ToolSpec
from caliban_common.usage import Usage
from caliban_provider.capabilities import Capabilities

VERSION: Final = 1
Number: TypeAlias = Annotated[int, Meta(ge=0)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0)]


class SubAgents(Tagged, frozen=True, kw_only=True, tag="agents"):
    """The sub-agents that a run may start; see `SubAgentParts`."""

    definitions: tuple[AgentDefinition, ...]
    place: str = ""
    max_depth: int = 1
    max_at_once: int = 8


class Scene(Tagged, frozen=True, kw_only=True, tag="scene"):
    """What a run begins with: all that its loop needs and no line brings.

    `options` are those of the agent, `face` what the face keeps for itself, `deferral` is how tools are held
    back, if any are; those called `held` are not shown before they are called. Ids and jitter come of `seed`.
    """

    session_id: str
    provider: str
    family: str
    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    options: Mapping[str, Any]
    seed: str
    prefix: Mapping[str, str] = field(default_factory=dict)
    agents: SubAgents | None = None
    deferral: Deferral | None = None
    held: tuple[str, ...] = ()
    has_summarizer: bool = False
    face: Mapping[str, Any] = field(default_factory=dict)


class Head(Tagged, frozen=True, kw_only=True, tag="recording"):
    """The first line. `caliban` is the version that wrote it."""

    version: int
    caliban: str
    scene: Scene


class RecordedLine(Tagged, frozen=True, kw_only=True):
    """Any other line; `at_s` counts from the beginning of the recording."""

    at_s: Seconds


class PromptLine(RecordedLine, frozen=True, kw_only=True, tag="prompt"):
    """A prompt comes in."""

    message: Message


class OperationLine(RecordedLine, frozen=True, kw_only=True, tag="operation"):
    """Something else is asked for between two prompts."""

    name: str


class InputEndLine(RecordedLine, frozen=True, kw_only=True, tag="input_end"):
    """There is no further prompt."""


class InputErrorLine(RecordedLine, frozen=True, kw_only=True, tag="input_error"):
    """What came in is no prompt; `kind` is the name of the error."""

    kind: str
    message: str
    hint: str | None = None


class LastLine(RecordedLine, frozen=True, kw_only=True, tag="last"):
    """Whether the input was known to have ended when that was asked."""

    value: bool


class ToolsLine(RecordedLine, frozen=True, kw_only=True, tag="tools"):
    """Tools as requests offer them, by the `number` that requests name."""

    number: Number
    specs: tuple[ToolSpec, ...]


class CapabilitiesLine(RecordedLine, frozen=True, kw_only=True, tag="capabilities"):
    """What the provider says of a model."""

    model: str
    value: Capabilities


class ChildLine(RecordedLine, frozen=True, kw_only=True, tag="child"):
    """A sub-agent that asked for the model `wanted` asks `model`, on a lane of its own."""

    lane: Number
    wanted: str | None
    model: str
    has_summarizer: bool = False


class RequestLine(RecordedLine, frozen=True, kw_only=True, tag="request"):
    """A model is asked. Of the request before on this `lane` the first `keep` messages stay.

    Lane 0 is that of the main agent. `rest` are members of the request beside those that stand here.
    """

    call: Number
    lane: Number
    keep: Number
    messages: tuple[Message, ...]
    tools: Number | None
    model: str
    max_tokens: int
    rest: Mapping[str, Any] = field(default_factory=dict)


class ReplyLine(RecordedLine, frozen=True, kw_only=True, tag="reply"):
    """What came since the line before; `ended` says that this was all of the reply."""

    call: Number
    events: tuple[Any, ...]
    ended: bool = False


class ReplyErrorLine(RecordedLine, frozen=True, kw_only=True, tag="reply_error"):
    """The call failed; see `faults`."""

    call: Number
    error: Mapping[str, Any]


class SummaryLine(RecordedLine, frozen=True, kw_only=True, tag="summary"):
    """A model of its own has summarised for `lane`: the history after that, or why not."""

    lane: Number
    messages: tuple[Message, ...] | None
    usage: Usage
    error: str = ""
    hint: str | None = None


class CallLine(RecordedLine, frozen=True, kw_only=True, tag="call"):
    """A tool begins. `agent` is whose call it is, empty the main one's."""

    number: Number
    tool: str
    id: str
    agent: str
    input: Mapping[str, Any]


class OutputData(Tagged, frozen=True, kw_only=True, tag="output"):
    """What a tool gave; see `ToolOutput`."""

    content: tuple[TextBlock | ImageBlock | DocumentBlock, ...]
    is_error: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


class ResultLine(RecordedLine, frozen=True, kw_only=True, tag="result"):
    """A tool has ended; `invalid` is what it said of arguments that do not fit."""

    number: Number
    output: OutputData | None
    invalid: str = ""


class BackgroundLine(RecordedLine, frozen=True, kw_only=True, tag="background"):
    """The call `number` leaves work to the background."""

    number: Number
    title: str


class BackgroundResultLine(RecordedLine, frozen=True, kw_only=True, tag="background_result"):
    """What came of that."""

    number: Number
    output: OutputData


class DecisionLine(RecordedLine, frozen=True, kw_only=True, tag="decision"):
    """What the rules said to a call."""

    tool: str
    input: Mapping[str, Any]
    decision: Decision


class NoticeLine(RecordedLine, frozen=True, kw_only=True, tag="notice"):
    """What a person was told beside the answer."""

    subtype: str
    message: str
    hint: str | None = None
    remedy: Remedy | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class CostsLine(RecordedLine, frozen=True, kw_only=True, tag="costs"):
    """What was spent by now."""

    total_usd: float
    by_model: tuple[tuple[str, Usage, float | None], ...]
    by_agent: tuple[tuple[str, Usage, float | None], ...]


class ActionLine(RecordedLine, frozen=True, kw_only=True, tag="action"):
    """A person, or a program, did something to the run at work."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


class NewsLine(RecordedLine, frozen=True, kw_only=True, tag="news"):
    """What the model was told of what goes on beside its turns, by the count of askings from 0."""

    number: Number
    lines: tuple[str, ...]


class ReadingLine(RecordedLine, frozen=True, kw_only=True, tag="reading"):
    """The output read the time `value_s`: it does so by itself, a little behind what it shows."""

    value_s: Seconds


class EndLine(RecordedLine, frozen=True, kw_only=True, tag="end"):
    """The run is over, with this exit code."""

    code: int


AnyLine: TypeAlias = (
    PromptLine
    | OperationLine
    | InputEndLine
    | InputErrorLine
    | LastLine
    | ToolsLine
    | CapabilitiesLine
    | ChildLine
    | RequestLine
    | ReplyLine
    | ReplyErrorLine
    | SummaryLine
    | CallLine
    | ResultLine
    | BackgroundLine
    | BackgroundResultLine
    | DecisionLine
    | NoticeLine
    | CostsLine
    | ActionLine
    | NewsLine
    | ReadingLine
    | EndLine
)

ASKED: Final = (PromptLine, OperationLine, InputEndLine, InputErrorLine, LastLine)
"""What comes of the input."""

AWAITED: Final = (*ASKED, ReplyLine, ReplyErrorLine, SummaryLine, ResultLine, BackgroundResultLine)
"""What the loop waits for."""

HAPPENING: Final = (NoticeLine, CostsLine, ActionLine)
"""What nobody waits for: it happens once everything before it has."""

ORDERED: Final = (*AWAITED, *HAPPENING)
"""The lines whose order is kept."""
