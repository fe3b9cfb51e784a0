"""Events folded into the view and the blocks that leave it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from caliban_common.event import (
    AgentEvent,
    ApiRetry,
    ApprovalAsked,
    ApprovalGiven,
    AssistantTextDelta,
    AssistantThinkingDelta,
    ChildEvent,
    HistoryReplaced,
    HookFired,
    MessageAdded,
    ReplyDiscarded,
    RunEnd,
    TaskChanged,
    ToolCallEnd,
    ToolCallInputDelta,
    ToolCallReady,
    ToolCallStart,
    ToolProgress,
    TurnEnd,
    TurnStart,
    Warned,
)
from caliban_common.message import (
    Base64Source,
    DocumentBlock,
    ImageBlock,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    assistant,
    user,
)
from caliban_common.stop import Stop
from caliban_common.usage import Usage
from caliban_tui.render.live import open_lines
from caliban_tui.screen import ScreenSize
from caliban_tui.transcript.blocks import (
    CallBlock,
    NoticeBlock,
    PromptBlock,
    ReasoningBlock,
    ReplyBlock,
    SummaryBlock,
    TaskBlock,
    TodoBlock,
    TranscriptBlock,
)
from caliban_tui.transcript.fold import fold
from caliban_tui.transcript.view import ConversationView, begun, ended

START = begun(ConversationView(), 0.0)


def summary(call: ToolUseBlock) -> str:
    return f"{call.name} {call.input.get('what', '')}".strip()


def folded(
    events: Sequence[AgentEvent], view: ConversationView = START, now_s: float = 1.0
) -> tuple[ConversationView, list[TranscriptBlock]]:
    done: list[TranscriptBlock] = []
    for event in events:
        view, blocks = fold(view, event, now_s, summary)
        done += blocks
    return view, done


def text(said: str) -> AssistantTextDelta:
    return AssistantTextDelta(turn=0, text=said)


def thought(said: str) -> AssistantThinkingDelta:
    return AssistantThinkingDelta(turn=0, text=said)


def ready(id: str, name: str = "T", **args: Any) -> ToolCallReady:
    return ToolCallReady(turn=0, call=ToolUseBlock(id=id, name=name, input=args))


def ended_call(id: str, said: str = "ok", name: str = "T", **more: Any) -> ToolCallEnd:
    error = more.pop("is_error", False)
    result = ToolResultBlock(tool_use_id=id, content=(TextBlock(text=said),), is_error=error)
    return ToolCallEnd(turn=0, name=name, result=result, **more)


def turn_end() -> TurnEnd:
    usage = Usage(output_tokens=7)
    return TurnEnd(turn=0, message=assistant("x"), results=(), stop_reason="end_turn", usage=usage)


def run_end() -> RunEnd:
    return RunEnd(stop=Stop(kind="end_of_turn"), messages=(), usage=Usage(), turns=1)


REPLY = "# A\n\none *two*\n\n- a\n- b\n\n```py\nx = 1\n```\nend " * 3


@given(st.lists(st.integers(1, 30), max_size=40), st.lists(st.integers(1, 30), max_size=40))
def test_any_chunking_of_deltas_gives_the_same_finished_blocks(cuts: list[int], thinking_cuts: list[int]):
    def deltas(make: Any, whole: str, sizes: list[int]) -> list[AgentEvent]:
        events, place = [], 0
        for size in sizes:
            events.append(make(whole[place : place + size]))
            place += size
        return [event for event in (*events, make(whole[place:])) if event.text]

    events = [
        *deltas(thought, "why " * 50, thinking_cuts),
        *deltas(text, REPLY, cuts),
        ready("1"),
        ended_call("1"),
        turn_end(),
        run_end(),
    ]
    whole = [thought("why " * 50), text(REPLY), ready("1"), ended_call("1"), turn_end(), run_end()]
    assert folded(events)[1] == folded(whole)[1]


def test_a_reply_leaves_in_blocks_as_they_close_and_the_rest_with_the_turn():
    view, done = folded([TurnStart(turn=0, model="m"), text("one\n\ntwo")])
    assert (done, view.open_text) == ([ReplyBlock(markdown="one", is_first=True)], "two")
    view, done = folded([turn_end()], view)
    assert done == [ReplyBlock(markdown="two")]
    assert (view.open_text, view.output_tokens) == ("", 7)


def test_thinking_is_one_block_with_its_time_however_long_it_is():
    view, _ = folded([thought("a" * 5_000)], now_s=1.0)
    view, _ = folded([thought("b" * 5_000)], view, now_s=2.0)
    view, done = folded([text("so")], view, now_s=4.0)
    assert done == [ReasoningBlock(text="a" * 5_000 + "b" * 5_000, duration_s=3.0)]
    view, done = folded([thought("again")], view)
    assert done == [ReplyBlock(markdown="so", is_first=True)]


def test_calls_are_written_made_and_ended_in_any_order():
    start = ToolCallStart(turn=0, tool_use_id="1", name="T")
    piece = ToolCallInputDelta(turn=0, tool_use_id="1", partial_json='{"what":')
    view, _ = folded([start, piece, piece])
    (call,) = view.calls
    assert (call.state, call.input_chars) == ("written", 16)
    view, done = folded([ready("1", what="x"), ready("2", what="y"), ended_call("2", "out")], view)
    assert [(call.tool_use_id, call.state) for call in view.calls] == [("1", "running")]
    assert done == [
        CallBlock(tool_use_id="2", name="T", summary="T y", arguments={"what": "y"}, output="out")
    ]
    view, done = folded([ended_call("1", "no", is_error=True, duration_ms=1500)], view)
    assert isinstance(done[0], CallBlock)
    assert (done[0].outcome, done[0].duration_s, view.calls) == ("failed", 1.5, ())
    _, done = folded([text("words"), ready("1"), ready("2"), ended_call("1"), ended_call("2")])
    assert [block.is_apart for block in done if isinstance(block, CallBlock)] == [True, False]


def test_a_call_waits_for_an_answer_and_speaks_while_it_runs():
    call = ToolUseBlock(id="1", name="T", input={})
    view, _ = folded([ApprovalAsked(turn=0, call=call, reason="r")])
    assert view.calls[0].state == "waiting"
    given_ = ApprovalGiven(turn=0, tool_use_id="1", action="allow")
    view, _ = folded(
        [given_, ToolProgress(tool_use_id="1", text="a\n"), ToolProgress(tool_use_id="1", text="b")], view
    )
    assert (view.calls[0].state, view.calls[0].progress) == ("running", "a\nb")
    view, _ = folded([ToolProgress(tool_use_id="1", text="x" * 10_000)], view)
    assert len(view.calls[0].progress) == 2_000
    assert folded([ToolProgress(tool_use_id="unknown", text="b")])[0] == START


def test_denied_and_interrupted_calls_say_why():
    _, done = folded([ready("1"), ended_call("1", outcome="denied", reason="rule")])
    assert isinstance(done[0], CallBlock)
    assert (done[0].outcome, done[0].reason) == ("denied", "rule")
    _, done = folded([ready("1"), run_end()])
    assert [block.outcome for block in done if isinstance(block, CallBlock)] == ["interrupted"]


def test_what_an_agent_does_is_below_its_call():
    def child(event: AgentEvent) -> ChildEvent:
        return ChildEvent(tool_use_id="1", agent="explore", event=event)

    inner = ChildEvent(tool_use_id="c", agent="deep", event=ready("d", what="deeper"))
    events = [ready("1", "Agent"), child(text("I look\n\n")), child(ready("c", what="x")), child(inner)]
    view, done = folded(events)
    assert done == []
    below = view.calls[0].child
    assert below is not None
    assert below.calls[0].summary == "T x"
    assert below.calls[0].child is not None
    assert below.calls[0].child.calls[0].summary == "T deeper"
    view, done = folded([child(ended_call("c")), child(Warned(subtype="s", message="careful"))], view)
    assert done == [NoticeBlock(level="warning", text="explore: careful")]
    _, done = folded([ended_call("1", name="Agent")], view)
    assert isinstance(done[0], CallBlock)
    assert [type(block) for block in done[0].inner] == [ReplyBlock, CallBlock, NoticeBlock]
    assert folded([ChildEvent(tool_use_id="nobody", agent="a", event=text("x"))])[0] == START


def test_of_what_an_agent_does_the_last_steps_are_kept_and_the_rest_is_counted():
    steps = [
        ChildEvent(tool_use_id="1", agent="a", event=event)
        for number in range(300)
        for event in (ready(f"c{number}"), ended_call(f"c{number}"))
    ]
    _, done = folded([ready("1"), *steps, ended_call("1")])
    assert isinstance(done[0], CallBlock)
    assert (len(done[0].inner), done[0].left_out) == (200, 100)
    assert isinstance(done[0].inner[-1], CallBlock)
    assert done[0].inner[-1].tool_use_id == "c299"


def test_work_in_the_background_has_its_own_row_until_it_is_over():
    def task(status: Any) -> TaskChanged:
        return TaskChanged(tool_use_id="1", name="Agent", title="explore: x", status=status)

    view, _ = folded([ready("1", "Agent"), task("started"), ended_call("1", name="Agent")])
    assert [call.summary for call in view.tasks] == ["explore: x"]
    view, _ = folded([ChildEvent(tool_use_id="1", agent="a", event=ended_call("c"))], view)
    view, done = folded([task("completed")], view, now_s=4.0)
    assert isinstance(done[0], TaskBlock)
    assert (done[0].status, done[0].duration_s, len(done[0].inner), view.tasks) == ("completed", 3.0, 1, ())


def test_the_list_of_tasks_is_kept_and_what_changed_of_it_is_known():
    def todos(*rows: tuple[str, str]) -> ToolCallEnd:
        return ended_call("1", details={"todos": [{"content": what, "status": how} for what, how in rows]})

    view, _ = folded([ready("1"), todos(("a", "pending"), ("b", "pending"))])
    view, done = folded([ready("1"), todos(("a", "completed"), ("b", "pending"))], ended(view))
    assert isinstance(done[0], TodoBlock)
    assert [(row.content, row.status, row.is_changed) for row in done[0].rows] == [
        ("a", "completed", True),
        ("b", "pending", False),
    ]
    assert begun(view, 0.0).todos == done[0].rows
    for odd in ({"todos": 7}, {"todos": ["x"]}, {}):
        _, done = folded([ready("1"), ended_call("1", details=odd)])
        assert isinstance(done[0], CallBlock)


def test_a_discarded_reply_is_marked_and_starts_again():
    events = [TurnStart(turn=0, model="m"), text("one\n\ntwo\n\nthree"), ready("1")]
    view, _ = folded(events)
    view, done = folded([ReplyDiscarded(turn=0, reason="cut")], view)
    words = "the reply starts again: cut; the 3 blocks above of it do not count"
    assert done == [NoticeBlock(level="warning", text=words)]
    assert (view.open_text, view.calls, view.thinking.text) == ("", (), "")
    _, done = folded([text("new\n\n")], view)
    assert done == [ReplyBlock(markdown="new", is_first=True)]
    _, done = folded([TurnStart(turn=0, model="m"), text("open"), ReplyDiscarded(turn=0, reason="cut")])
    assert done == [NoticeBlock(level="warning", text="the reply starts again: cut")]


def test_what_happens_to_the_conversation_is_told():
    retry = ApiRetry(turn=0, attempt=1, max_retries=3, delay_ms=1500, category="overloaded", message="busy")
    replaced = HistoryReplaced(messages=(), reason="compacted", tokens_before=10, tokens_after=3)
    _, done = folded(
        [
            retry,
            replaced,
            HistoryReplaced(messages=(), reason="rewound"),
            Warned(subtype="s", message="m", details={"hint": "h"}),
            HookFired(name="RunStop", payload={"decision": "deny"}),
            HookFired(name="PreTurn", payload={"decision": "allow"}),
            HookFired(name="PreToolUse", payload={"decision": "deny", "tool_use_id": "1"}),
        ]
    )
    assert done == [
        NoticeBlock(level="warning", text="busy; asking again in 1.5 s (1/3)"),
        SummaryBlock(reason="compacted", tokens_before=10, tokens_after=3),
        NoticeBlock(level="warning", text="m", hint="h"),
        NoticeBlock(level="info", text="a hook answered RunStop with deny"),
    ]


def test_a_message_that_steers_and_a_hook_that_speaks_are_shown_and_no_other():
    picture = ImageBlock.of("image/png", "AAAA")
    steering = Message(role="user", content=(TextBlock(text="faster"), picture))
    results = Message(role="user", content=(ToolResultBlock(tool_use_id="1", content=()),))
    _, done = folded(
        [
            MessageAdded(message=steering),
            MessageAdded(message=user('<hook event="PostToolUse">\nsays\nthis\n</hook>'), injected=True),
            MessageAdded(message=user("go on"), injected=True),
            MessageAdded(message=results),
            MessageAdded(message=assistant("said")),
        ]
    )
    assert done == [
        PromptBlock(text="faster", attached=("image image/png",), steered=True),
        NoticeBlock(level="info", text="a hook says at PostToolUse: says\nthis"),
    ]


def test_pictures_of_a_result_stay_with_its_call():
    picture = ImageBlock.of("image/png", "AAAA")
    paper = DocumentBlock(source=Base64Source(media_type="application/pdf", data="AA"), title="a.pdf")
    result = ToolResultBlock(tool_use_id="1", content=(TextBlock(text="see"), picture, paper))
    _, done = folded([ready("1"), ToolCallEnd(turn=0, name="T", result=result)])
    assert isinstance(done[0], CallBlock)
    assert (done[0].images, done[0].output) == ((picture,), "see\n[document: a.pdf]")


EVENTS: list[AgentEvent] = [
    TurnStart(turn=0, model="m"),
    TurnStart(turn=1, model="m"),
    text("words\n\nmore"),
    text("```\ncode"),
    thought("why"),
    *(
        event
        for id in ("1", "2")
        for event in (
            ToolCallStart(turn=0, tool_use_id=id, name="T"),
            ToolCallInputDelta(turn=0, tool_use_id=id, partial_json="{}"),
            ready(id),
            ApprovalAsked(turn=0, call=ToolUseBlock(id=id, name="T", input={}), reason="r"),
            ApprovalGiven(turn=0, tool_use_id=id, action="deny"),
            ToolProgress(tool_use_id=id, text="at work"),
            ChildEvent(tool_use_id=id, agent="a", event=text("inner\n\n")),
            ChildEvent(tool_use_id=id, agent="a", event=ready("1")),
            TaskChanged(tool_use_id=id, name="T", title="t", status="started"),
            TaskChanged(tool_use_id=id, name="T", title="t", status="failed"),
            ended_call(id),
        )
    ),
    ReplyDiscarded(turn=0, reason="cut"),
    turn_end(),
    run_end(),
]


@given(st.lists(st.sampled_from(EVENTS), max_size=40))
def test_events_in_any_order_leave_nothing_open_at_the_end(events: list[AgentEvent]):
    view, done = folded([*events, run_end()])
    assert (view.calls, view.tasks, view.open_text, view.thinking.text) == ((), (), "", "")
    calls = [block.tool_use_id for block in done if isinstance(block, CallBlock)]
    ends = sum(isinstance(event, ToolCallEnd) for event in events)
    assert len(calls) >= ends
    size = ScreenSize(20, 8)
    half, _ = folded(events)
    assert len(open_lines(half, size, 2.0)) <= 4
