"""What a terminal shows of a conversation: Markdown as it streams, edits, calls, agents, and its end."""

from __future__ import annotations

from command_kit import Cli
from hang_guard import HANG_S
from screen_kit import on_screen

from caliban_provider.testing.exchange import Pause
from caliban_provider_anthropic.testing import wire

REPLY = """\
# Found it

See [the file](https://example.com/x), which has *one* fault:

1. first
2. second

| name | value |
|---|---|
| a | 1 |

```python
print("one line of code that is wider than this terminal, and that a person would copy as a whole")
```
"""


def test_a_conversation_with_tools_stands_in_the_scrollback_as_it_happened(cli: Cli) -> None:
    (cli.work / "a.py").write_text("x = 1\ny = 2\n")
    todos = [{"content": "change x", "status": "completed"}, {"content": "run it", "status": "in_progress"}]
    failing = "printf 'one\\ntwo\\033[2J\\n'; seq 30; exit 3"
    cli.script(
        wire.exchange(wire.thinking("I see."), wire.text(REPLY), wire.tool_use("Read", {"path": "a.py"})),
        wire.exchange(
            wire.tool_use("Edit", {"path": "a.py", "old_string": "x = 1", "new_string": "x = 3"}, id="e"),
            wire.tool_use("TodoWrite", {"todos": todos}, id="t"),
        ),
        wire.exchange(wire.tool_use("Bash", {"command": failing}, id="b")),
        wire.exchange(wire.text("That is **all**.")),
    )
    flags = ("--permission-mode", "acceptEdits", "--allow", "Bash")
    with on_screen(cli, *flags, columns=70, rows=24) as screen:
        screen.wait("/work")
        screen.type("fix it")
        screen.press("enter")
        screen.wait("4 turns")
        shown = "\n".join(screen.scrollback)
    for part in (
        "thought", "Found it", "the file (https://example.com/x)", "has one fault:", "1. first\n2. second",
        "name  value\n────  ─────\na     1", "● Read a.py", "● Edit a.py:1  +1 -1", "1 - x = 1\n  1 + x = 3",
        "● 1 of 2 tasks done\n  ☑ change x\n  ▶ run it", "✗ Bash printf", "exit code 3", "more lines\n  26\n",
        "That is all.", "4 turns",
    ):  # fmt: skip
        assert part in shown
        assert shown.count(part) == 1
    assert "**" not in shown
    assert "print(" in shown


def test_what_was_said_stays_when_a_person_leaves_in_the_midst_of_it(cli: Cli) -> None:
    cli.script(wire.broken(wire.text("Only half of", " it"), after=4, end=Pause(HANG_S)))
    with on_screen(cli, columns=70, rows=24) as screen:
        screen.wait("/work")
        screen.type("say it")
        screen.press("enter")
        screen.wait("Only half of")
        screen.press("ctrl+d")
        screen.ended()
        assert "Only half of" in screen.text


def test_an_agent_is_a_tree_below_its_call_and_a_discarded_reply_is_marked(cli: Cli) -> None:
    waiting = "until [ -e go ]; do sleep 0.02; done"
    delegated = {"description": "a look", "prompt": "look around"}
    cut = wire.broken(
        wire.text("It is\n\nalmost\n\n", "there"), after=4, end=wire.error_event("overloaded_error")
    )
    cli.script(
        wire.exchange(wire.tool_use("Agent", delegated, id="d")),
        wire.exchange(wire.tool_use("Bash", {"command": waiting}, id="c")),
        wire.exchange(wire.text("I looked.")),
        cut,
        wire.exchange(wire.text("It is there.")),
    )
    with on_screen(cli, "--allow", "Bash", columns=70, rows=24) as screen:
        screen.wait("/work")
        screen.type("delegate")
        screen.press("enter")
        screen.wait("└ Bash until")
        assert "○ Agent" in screen.text
        (cli.work / "go").touch()
        screen.wait("2 turns")
        shown = "\n".join(screen.scrollback)
    assert "● Agent" in shown
    assert "  └ Bash until" in shown
    assert "I looked." in shown
    assert "the reply starts again" in shown
    assert "above of it" in shown
    assert shown.count("It is there.") == 1
    assert shown.index("almost") < shown.index("the reply starts again") < shown.index("It is there.")
