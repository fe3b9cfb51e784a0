"""What is opened is what was judged, also inside the root: a link swapped behind the gate's back is met.

The fence keeps a file tool in its root (`test_attacks_fence`); here the gate has denied a part of that root.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from command_kit import Cli
from extent_kit import examples
from hang_guard import HANG_S
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from caliban_common.permission import Decision
from caliban_common.tool import Tool, ToolContext
from caliban_permissions import Engine, RuleSet, parse_rules
from caliban_provider_anthropic.testing import wire
from caliban_tools_builtin import ToolOptions, builtin_tools

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and handles are those of POSIX")

CANARY = "CANARY-denied"
RULES = {
    "allow": ["Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "Grep", "Glob", "Bash"],
    "deny": [f"{tool}:secret/**" for tool in ("Read", "Edit", "Write")],
}
DEEDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Read", {}),
    ("Read", {"offset": 1, "limit": 2}),
    ("Write", {"content": "PWNED"}),
    ("Edit", {"old_string": "CANARY", "new_string": "PWNED"}),
    ("MultiEdit", {"edits": [{"old_string": "CANARY", "new_string": "PWNED"}]}),
    ("NotebookEdit", {"index": 0, "source": "PWNED", "action": "replace"}),
    ("Grep", {"pattern": "CANARY"}),
    ("Glob", {"pattern": "**"}),
)


class Place:
    """A workspace with a directory that rules deny, and the tools on it behind an engine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("secret", "a", "b"):
            (root / folder).mkdir(parents=True)
        (root / "secret" / "f").write_text(CANARY)
        (root / "a" / "f").write_text("plain CANARY-free")
        rules = RuleSet(user=parse_rules(RULES, source="user"))
        options = ToolOptions(workspace=root, readable=self.may_read)
        self.tools: dict[str, Tool] = {tool.spec.name: tool for tool in builtin_tools(options)}
        specs = [tool.spec for tool in self.tools.values()]
        self.engine = Engine(rules, mode="bypassPermissions", workspace=root, interactive=True, vouched=specs)

    def may_read(self, path: str) -> bool:
        return self.engine.may_read(path)

    def decide(self, name: str, args: dict[str, Any]) -> Decision:
        return self.engine.decide(self.tools[name].spec, args)

    def run(self, name: str, args: dict[str, Any], decision: Decision) -> str:
        context = ToolContext(session_id="s", turn=0, tool_use_id="t", paths=decision.paths)
        return anyio.run(self.tools[name].invoke, args, context).text

    def kept(self) -> bool:
        secret = self.root / "secret"
        return (secret / "f").read_text() == CANARY and [p.name for p in secret.iterdir()] == ["f"]


@pytest.mark.parametrize(("name", "more"), DEEDS)
@pytest.mark.parametrize("what", ["file", "directory"])
def test_a_link_that_is_swapped_after_the_verdict_is_not_followed(tmp_path, name, more, what):
    place = Place(tmp_path / "ws")
    seeks = name in ("Grep", "Glob")
    args = {"path": "a" if seeks else "a/f", **more}
    decision = place.decide(name, args)
    assert decision.action == "allow"
    if what == "directory" or seeks:
        (place.root / "a").rename(place.root / "away")
        (place.root / "a").symlink_to("secret")
    else:
        (place.root / "a" / "f").unlink()
        (place.root / "a" / "f").symlink_to("../secret/f")
    text = place.run(name, args, decision)
    assert "leads elsewhere than when it was judged" in text
    assert CANARY not in text and place.kept()


def test_links_that_were_there_when_it_was_judged_keep_working(tmp_path):
    place = Place(tmp_path / "ws")
    (place.root / "b" / "l").symlink_to("../a")
    decision = place.decide("Edit", {"path": "b/l/f", "old_string": "plain", "new_string": "changed"})
    text = place.run("Edit", {"path": "b/l/f", "old_string": "plain", "new_string": "changed"}, decision)
    assert (place.root / "a" / "f").read_text() == "changed CANARY-free", text
    (place.root / "b" / "g").write_text("other")
    (place.root / "b" / "l").unlink()
    (place.root / "b" / "l").symlink_to("../secret")
    assert place.decide("Read", {"path": "b/l/f"}).action == "deny"


NAMES = st.sampled_from(("a", "b", "l0", "l1", "..", ".", "f", "secret", ""))
PATHS = st.sampled_from(("l0/f", "b/l0/f", "a/l1/f", "b/l1")) | st.lists(NAMES, max_size=5).map("/".join)
TARGETS = st.sampled_from(("a", "../a", "secret", "../secret", "../secret/f", "l1", "..", "../b/l1"))
SPOTS = ("l0", "a/l1", "b/l0", "b/l1")


@contextmanager
def swapping(root: Path, spots: list[tuple[str, str, str]]) -> Iterator[threading.Event]:
    """Each link leads to the one and to the other of its targets by turns, as quickly as a thread can."""
    over, swapped = threading.Event(), threading.Event()

    def swap() -> None:
        turn = 0
        while not over.is_set():
            turn += 1
            for spot, *targets in spots:
                spare = root / f".spare{turn % 3}"
                try:
                    spare.unlink(missing_ok=True)
                    spare.symlink_to(targets[turn % 2])
                    spare.replace(root / spot)
                except OSError:
                    pass  # a tool has put something there: the next turn finds it
            swapped.set()
            over.wait(0.0001)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield swapped
    finally:
        over.set()
        thread.join()


@given(st.data())
@settings(max_examples=examples(15), phases=(Phase.generate,), deadline=None)
def test_no_farm_of_links_and_no_swapper_leads_to_what_the_gate_denied(tmp_path_factory, data):
    place = Place(tmp_path_factory.mktemp("farm") / "ws")
    spots = [(spot, data.draw(TARGETS), data.draw(TARGETS)) for spot in SPOTS]
    paths = [data.draw(PATHS) or "." for _ in range(2)]
    for spot, target, _ in spots:
        if not os.path.lexists(place.root / spot):
            (place.root / spot).symlink_to(target)
    texts: list[str] = []
    with swapping(place.root, spots) as swapped:
        for path in paths:
            for name, more in DEEDS:
                decision = place.decide(name, {"path": path, **more})
                if decision.action == "allow":
                    swapped.clear()
                    swapped.wait(HANG_S)
                    texts.append(place.run(name, {"path": path, **more}, decision))
    assert place.kept()
    assert [text for text in texts if CANARY in text] == []
    shutil.rmtree(place.root.parent)


def send(process: subprocess.Popen[bytes], frame: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(frame).encode() + b"\n")
    process.stdin.flush()


def until(process: subprocess.Popen[bytes], *kinds: str) -> dict[str, Any]:
    assert process.stdout is not None
    while line := process.stdout.readline():
        frame: dict[str, Any] = json.loads(line)
        if frame["type"] in kinds:
            return frame
    raise AssertionError(f"it ended before any of {kinds}")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Write", {"path": "a/f", "content": "PWNED"}),
        ("Bash", {"command": "touch made", "cwd": "a"}),
    ],
    ids=["Write", "Bash"],
)
def test_a_person_who_takes_long_allows_what_was_shown_and_nothing_else(cli: Cli, name, given):
    """Through the command: the link is swapped while the question is open."""
    work = cli.work
    (work / "a").mkdir()
    (work / "b").mkdir()
    (work / "b" / "f").write_text("kept")
    cli.script(wire.exchange(wire.tool_use(name, given)), wire.exchange(wire.text("done")))
    flags = ("--input-format", "stream-json", "--output-format", "stream-json")
    process = cli.begin(*flags, "--permission-prompt-tool", "stdio", stdin=subprocess.PIPE)
    with process:
        send(process, {"type": "user", "content": "go"})
        while (frame := until(process, "control_request", "result"))["type"] != "result":
            os.rename(work / "a", work / "away")
            (work / "a").symlink_to("b")
            body = {
                "subtype": "success",
                "request_id": frame["request_id"],
                "response": {"behavior": "allow"},
            }
            send(process, {"type": "control_response", "response": body})
            until(process, "tool_result")
        process.communicate(timeout=HANG_S)
    results = json.dumps([body["messages"][-1] for body in cli.bodies()[1:]])
    assert results.count("leads elsewhere than when it was judged") == 1
    assert (work / "b" / "f").read_text() == "kept" and not (work / "b" / "made").exists()
