"""One of everything that a transcript is made of."""

from __future__ import annotations

from caliban_commands.answer import ChoiceRow, ShownChoice, ShownTable, ShownText
from caliban_common.hunks import text_change
from caliban_common.message import ImageBlock
from caliban_tui.markdown.splitter import OpenReply, closed, fed
from caliban_tui.transcript.blocks import (
    AnswerBlock,
    CallBlock,
    EndBlock,
    NoticeBlock,
    PromptBlock,
    ReasoningBlock,
    ReplyBlock,
    ShellBlock,
    SummaryBlock,
    TaskBlock,
    TodoBlock,
    TodoRow,
    TranscriptBlock,
)

MARKDOWN = """\
# What I found

The function *parse* in `caliban/core.py` reads **each line** twice; see [the issue](https://example.com/issues/12)
and https://example.com/a/very/long/address/that/is/wider/than/the/narrowest/of/all/screens/index.html?for=sure.
A second line of the paragraph. ~~Not so.~~

1. Change the loop, which today goes over all the lines that there are in the file and then over them again
1. Run `pytest -q tests/test_core.py` again
   - with *both* backends

     and a paragraph of its own
   - and on Windows
1. Done

| module | lines | what it does |
|--------|------:|--------------|
| `core` | 120 | reads and writes everything that there is, one line at a time |
| `util` | 8 | 日本語 |

> Quoted **words** that somebody else has said, long enough to be wrapped on the narrowest screen.

```python
def parse(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]  # one pass
```

Setext
------

- [ ] open 👩‍👧 family
- עברית and العربية and é

***

    indented code

[ref]: https://example.com/ref
"""

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

OLD = "".join(f"line {number}\n" for number in range(1, 30))
NEW = (
    OLD.replace("line 5\n", "line five\n")
    .replace("line 20\n", "")
    .replace("line 21\n", "line 21\nand one more\n")
)


def reply_blocks(text: str) -> tuple[ReplyBlock, ...]:
    reply, blocks = fed(OpenReply(), text)
    return (*blocks, *closed(reply))


def call(name: str, summary: str = "", **more: object) -> CallBlock:
    return CallBlock(tool_use_id="1", name=name, summary=f"{name} {summary}".strip(), **more)  # type: ignore[arg-type]


SHELL = "→ Bash command: make\n→ Exit code: 2\n→ Stdout:\n" + "".join(
    f"building part {number} of the whole thing, which takes a while\n" for number in range(1, 43)
)

SAMPLES: tuple[TranscriptBlock, ...] = (
    PromptBlock(text="Fix the parser: it reads each line twice", attached=("core.py", "image image/png")),
    ReasoningBlock(text="The loop is odd.\nI look at it first.", duration_s=4.2),
    *reply_blocks(MARKDOWN),
    call(
        "Read",
        "core.py",
        is_apart=True,
        output="→ Read core.py, lines 1-2 of 2\n\n  1\ta",
        details={"path": "/w/core.py"},
    ),
    call("Edit", "core.py", details={"path": "/w/core.py", "change": text_change(OLD, NEW).details()}),
    call("Write", "new.py", details={"path": "/w/new.py", "change": text_change("", "a\nb\n").details()}),
    call(
        "Bash",
        "make",
        arguments={"command": "make"},
        output=SHELL + "→ Stderr:\nmake: *** [all] Error 2",
        outcome="failed",
        details={"exit_code": 2},
        duration_s=12.0,
    ),
    call("mcp__x__ask", output="".join(f"answer {number}\n" for number in range(9))),
    call("Bash", "rm -rf /", outcome="denied", reason="a rule denies Bash:rm *"),
    call("Bash", "sleep 100", outcome="interrupted", duration_s=3.0),
    call("shot", images=(ImageBlock.of("image/png", PIXEL),)),
    call(
        "Agent",
        "explore: where lines are read",
        output="In core.py.\nTwice.",
        duration_s=61,
        inner=(
            call("Grep", "splitlines"),
            call("Read", "core.py", outcome="failed"),
            call("Agent", "deep: more", inner=(call("Glob", "**/*.py"),)),
            call("Read", "util.py"),
        ),
        left_out=3,
    ),
    TaskBlock(title="explore: tests", status="completed", duration_s=30.0, inner=(call("Glob", "tests/*"),)),
    TodoBlock(
        rows=(
            TodoRow(content="read the parser", status="completed"),
            TodoRow(content="change the loop", status="in_progress"),
            TodoRow(content="run the tests", status="pending", is_changed=False),
        )
    ),
    NoticeBlock(level="warning", text="the model is not known here", hint="name its window in the settings"),
    PromptBlock(text="and the tests", steered=True),
    SummaryBlock(reason="compacted", tokens_before=120_000, tokens_after=9_000),
    AnswerBlock(
        line="/cost",
        parts=(
            ShownText(markdown="It cost **$1.20**."),
            ShownTable(
                columns=("model", "usd"), rows=(("a", "1.00"), ("b", "0.20")), title="By", notes=("n",)
            ),
            ShownChoice(title="Pick", rows=(ChoiceRow(label="One", line="/x 1", is_current=True),)),
        ),
    ),
    ShellBlock(command="ls", output="a\nb\n", code=1),
    EndBlock(duration_s=75.0, turns=3, cost_usd=0.0123, input_tokens=12_345, output_tokens=678),
    EndBlock(duration_s=1.0, turns=1, cost_usd=None, words="the model is busy", hint="ask again later"),
)
