"""Sub-agents through the real command: what they see, what they may, what they cost, and who stops them."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hang_guard import HANG_S, wait_until

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import Exchange
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

STREAM = ("-p", "go", "--output-format", "stream-json")
ROUTES = """
[[router.route]]
purpose = "main_loop"
provider = "anthropic"
model = "claude-sonnet-4-6"

[[router.route]]
purpose = "sub_agent"
provider = "helpers"
model = "claude-haiku-4-5"

[provider.helpers]
kind = "anthropic"
"""


def delegate(prompt: str = "look around", *, id: str = "d1", **args: Any) -> Exchange:
    return wire.exchange(wire.tool_use("Agent", {"description": "a look", "prompt": prompt, **args}, id=id))


def use(name: str, args: dict[str, Any], *, id: str = "c1") -> Exchange:
    return wire.exchange(wire.tool_use(name, args, id=id))


def said(text: str) -> Exchange:
    return wire.exchange(wire.text(text))


def results(body: dict[str, Any]) -> list[str]:
    """The texts of the results in the last message of a request."""
    blocks = [block for block in body["messages"][-1]["content"] if block["type"] == "tool_result"]
    return ["".join(part["text"] for part in block["content"]) for block in blocks]


@dataclass
class Routed:
    """The command, whose sub-agents are routed to a server of their own."""

    cli: Any
    helpers: LoopbackServer
    flags: tuple[str, ...]

    def run(self, *flags: str, **options: Any) -> Any:
        return self.cli.run(*flags, *self.flags, **options)


@pytest.fixture
def routed(cli, tmp_path: Path) -> Iterator[Routed]:
    with LoopbackServer([], validator=StrictValidator()) as helpers:
        file = tmp_path / "routes.toml"
        file.write_text(f'{ROUTES}base_url = "{helpers.url}"\napi_key_env = "ANTHROPIC_API_KEY"\n')
        yield Routed(cli, helpers, ("--config", str(file)))


def test_an_agent_works_by_itself_and_frames_say_whose_calls_are_whose(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    cli.script(delegate("what is x?"), use("Read", {"path": "a.py"}), said("x is 1"), said("It is 1."))
    done = cli.run(*STREAM)
    assert (done.code, done.frames[-1]["result"]) == (0, "It is 1.")
    calls = [(f["id"], f.get("parent_tool_use_id"), f.get("subagent_type")) for f in done.of("tool_use")]
    assert calls == [("d1", None, None), ("c1", "d1", "general-purpose")]
    ended = [(f["tool_use_id"], f.get("parent_tool_use_id")) for f in done.of("tool_result")]
    assert ended == [("c1", "d1"), ("d1", None)]
    assert [len(f["content"]) for f in done.of("message")] == [1, 1]
    first, child, _, last = cli.bodies()
    of_session = {"BashOutput", "KillShell", "TodoWrite", "EnterPlanMode", "ExitPlanMode", "AskUser", "Agent"}
    names = [tool["name"] for tool in first["tools"]]
    assert [tool["name"] for tool in child["tools"]] == [name for name in names if name not in of_session]
    assert [message["content"][0]["text"] for message in child["messages"]] == ["what is x?"]
    assert f"Working directory: {cli.work}" in child["system"][0]["text"]
    assert results(last) == ["x is 1"]


def test_what_an_agent_spends_counts_in_the_run_and_under_its_name(cli):
    cli.script(delegate(), said("seen"), said("done"))
    result = cli.run(*STREAM).frames[-1]
    assert (result["num_turns"], result["usage"]["input_tokens"]) == (2, 30)
    share = result["agent_usage"]["general-purpose"]
    assert (share["input_tokens"], share["cost_usd"]) == (10, pytest.approx(result["total_cost_usd"] / 3))
    saved = cli.run("-p", "more", "-c", "--output-format", "json").json
    assert "agent_usage" not in saved


def test_the_tokens_of_an_agent_are_kept_with_the_session(cli):
    cli.script(delegate(), said("seen"), said("done"))
    cli.run("-p", "go", "--session", "s", "--sessions-dir", str(cli.home / "kept"))
    kept = json.loads((cli.home / "kept" / "s.json").read_text())
    assert kept["total_usage"]["input_tokens"] == 30
    roles = [message["role"] for message in kept["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant"]


def test_a_budget_is_that_of_the_whole_family(cli):
    dear = wire.exchange(wire.text("seen"), usage=Usage(input_tokens=10, output_tokens=5000))
    cli.script(delegate(), dear, said("never asked"))
    done = cli.run(*STREAM, "--max-budget-usd", "0.05")
    assert (done.code, done.frames[-1]["subtype"]) == (137, "budget_exceeded")
    assert len(cli.bodies()) == 2


@pytest.mark.parametrize(
    ("flags", "words"), [(("--permission-mode", "plan"), "plan mode"), ((), "acceptEdits")]
)
def test_an_agent_is_checked_as_its_caller_is(cli, flags, words):
    cli.script(delegate(), use("Write", {"path": "made", "content": "x"}), said("tried"), said("done"))
    done = cli.run(*STREAM, *flags)
    assert not (cli.work / "made").exists()
    (text,) = results(cli.bodies()[2])
    assert text.startswith("Tool call denied:") and words in text
    (denial,) = done.frames[-1]["permission_denials"]
    assert (denial["tool_name"], denial["agent"], denial["tool_input"]["path"]) == (
        "Write",
        "general-purpose",
        "made",
    )


def test_an_agent_may_what_its_caller_may(cli):
    cli.script(delegate(), use("Write", {"path": "made", "content": "x"}), said("made"), said("done"))
    done = cli.run(*STREAM, "--permission-mode", "acceptEdits")
    assert ((cli.work / "made").read_text(), done.frames[-1]["permission_denials"]) == ("x", [])


def test_a_tool_that_rules_deny_is_not_offered_to_an_agent(cli):
    cli.script(delegate(), said("cannot write"), said("done"))
    cli.run(*STREAM, "--deny", "Write")
    assert "Write" not in [tool["name"] for tool in cli.bodies()[1]["tools"]]


def test_an_agent_stays_within_the_fence(cli):
    (cli.home / "secret").write_text("CANARY")
    cli.script(delegate(), use("Read", {"path": "../home/secret"}), said("no"), said("done"))
    cli.run(*STREAM)
    assert "CANARY" not in json.dumps(cli.bodies())


@pytest.mark.parametrize(
    "flags",
    [("--no-sub-agent",), ("--deny", "Agent"), ("--deny", "AgentTool"), ("--deny", "Task"), ("--no-tools",)],
)
def test_without_sub_agents_the_tool_is_not_offered(cli, flags):
    cli.script(said("alone"))
    done = cli.run(*STREAM, *flags)
    assert "Agent" not in done.frames[0]["tools"]
    assert "Agent" not in [tool["name"] for tool in cli.bodies()[0].get("tools", ())]


def test_the_variable_of_the_flag_leaves_it_out_too(cli):
    cli.script(said("alone"))
    assert "Agent" not in cli.run(*STREAM, env={"CALIBAN_NO_SUB_AGENT": "1"}).frames[0]["tools"]


def test_a_rule_may_deny_one_kind_of_agent(cli):
    cli.script(delegate(subagent_type="general-purpose"), said("done"))
    cli.run(*STREAM, "--deny", "Agent(general-purpose)")
    (text,) = results(cli.bodies()[1])
    assert text.startswith("Tool call denied:")


def test_agents_take_the_route_that_is_for_them(routed):
    routed.cli.script(delegate(), said("done"))
    routed.helpers.extend(said("seen"))
    done = routed.run(*STREAM)
    assert (done.code, done.frames[-1]["result"]) == (0, "done")
    assert [request.json["model"] for request in routed.helpers.requests] == ["claude-haiku-4-5"]
    usage = done.frames[-1]["model_usage"]
    assert {name: row["input_tokens"] for name, row in usage.items()} == {
        "claude-haiku-4-5": 10,
        "claude-sonnet-4-6": 20,
    }
    assert done.frames[-1]["agent_usage"]["general-purpose"]["input_tokens"] == 10


def test_a_call_may_name_another_model_of_the_provider(cli):
    cli.script(delegate(model="anthropic/claude-opus-4-7"), said("seen"), said("done"))
    cli.run(*STREAM)
    assert [body["model"] for body in cli.bodies()] == [
        "claude-sonnet-4-6",
        "claude-opus-4-7",
        "claude-sonnet-4-6",
    ]


def test_settings_allow_agents_of_agents(cli):
    cli.configure("[agents]\nmax_depth = 2\n")
    cli.script(delegate("one"), delegate("two", id="d2"), said("bottom"), said("middle"), said("top"))
    done = cli.run(*STREAM)
    assert done.frames[-1]["result"] == "top"
    offered = [any(tool["name"] == "Agent" for tool in body["tools"]) for body in cli.bodies()]
    assert offered == [True, True, False, True, True]
    ids = [(frame["tool_use_id"], frame.get("parent_tool_use_id")) for frame in done.of("tool_result")]
    assert ids == [("d2", "d1"), ("d1", None)]


def test_an_agent_in_the_background_is_waited_for_and_its_result_read(routed):
    routed.cli.script(delegate(run_in_background=True), said("Meanwhile."), said("All done."))
    routed.helpers.extend(said("found it"))
    done = routed.run(*STREAM)
    assert (done.code, done.frames[-1]["result"]) == (0, "All done.")
    tasks = [frame for frame in done.of("system") if frame["subtype"].startswith("task_")]
    assert [(f["subtype"], f["task_id"], f.get("status")) for f in tasks] == [
        ("task_started", "d1", None),
        ("task_notification", "d1", "completed"),
    ]
    read = routed.cli.bodies()[-1]["messages"]
    texts = [block["text"] for message in read for block in message["content"] if block["type"] == "text"]
    assert any(text.startswith("<background_result") and "\nfound it\n" in text for text in texts)


def test_the_result_of_the_background_is_kept_when_the_run_ends_before_it_was_read(routed):
    kept = str(routed.cli.home / "kept")
    routed.cli.script(delegate(run_in_background=True))
    routed.helpers.extend(use("Bash", {"command": "sleep 600"}))
    flags = ("--session", "s", "--sessions-dir", kept, "--max-turns", "1", "--allow", "Bash")
    done = routed.run(*STREAM, *flags)
    assert (done.code, done.frames[-1]["subtype"]) == (75, "max_turns")
    messages = json.loads((Path(kept) / "s.json").read_text())["messages"]
    last = messages[-1]["content"][0]["text"]
    assert last.startswith('<background_result tool_use_id="d1" status="stopped"')
    routed.cli.script(said("I know."))
    again = routed.run("-p", "And?", "-r", "s", "--sessions-dir", kept)
    assert (again.code, again.out) == (0, "I know.\n")


def test_a_frame_stops_one_agent_and_the_run_goes_on(routed):
    routed.cli.script(delegate(), said("Without it, then."))
    routed.helpers.extend(use("Bash", {"command": "touch begun; sleep 600"}))
    process = routed.cli.start(
        "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--allow", "Bash",
        *routed.flags, stdin=-1,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(b'{"type":"user","content":"go"}\n')
    process.stdin.flush()
    begun = routed.cli.work / "begun"
    wait_until(begun.exists)
    process.stdin.write(b'{"type":"control","subtype":"stop_task","task_id":"d1"}\n')
    out, _ = process.communicate(timeout=HANG_S)
    frames = [json.loads(line) for line in out.splitlines()]
    assert (process.returncode, frames[-1]["result"]) == (0, "Without it, then.")
    assert results(routed.cli.bodies()[1]) == ["[stopped: the user ended this call]"]


def test_a_signal_ends_a_run_with_its_agents(routed, is_gone):
    routed.cli.script(delegate())
    routed.helpers.extend(use("Bash", {"command": "echo $$ > pid; exec sleep 600"}))
    process = routed.cli.start(*STREAM, "--allow", "Bash", *routed.flags)
    written = routed.cli.work / "pid"
    wait_until(lambda: written.exists() and written.read_text().strip() != "")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 124
    assert json.loads(out.splitlines()[-1])["subtype"] == "cancelled"
    assert is_gone(int(written.read_text()))


def test_standard_error_says_what_agents_do(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    cli.script(
        delegate(subagent_type="general-purpose"),
        wire.exchange(
            wire.tool_use("Read", {"path": "a.py"}, id="c1"),
            wire.tool_use("Write", {"path": "b", "content": "x"}, id="c2"),
        ),
        said("x is 1"),
        said("done"),
    )
    done = cli.run("-p", "go")
    assert done.out == "done\n"
    lines = done.err.splitlines()
    assert lines[:3] == [
        "[Agent general-purpose: a look]",
        "[general-purpose: Read a.py]",
        "[general-purpose: Write b]",
    ]
    assert lines[3].startswith("caliban: general-purpose: Write was denied: ")


REVIEWER = "---\nname: reviewer\ndescription: reads diffs\ntools: Read\nmaxTurns: 2\n---\nYou review.\n"


def agent_file(folder: Path, text: str = REVIEWER, name: str = "reviewer.md") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def kinds(cli, at: int = 0) -> list[str]:
    """The kinds of agents that a request tells of."""
    tools = [tool for tool in cli.bodies()[at]["tools"] if tool["name"] == "Agent"]
    return [line.split(":")[0][2:] for line in tools[0]["description"].splitlines() if line.startswith("- ")]


@pytest.mark.parametrize("place", ["home/.config/caliban/agents", "home/.claude/agents"])
def test_a_person_may_write_kinds_of_agents(cli, place):
    agent_file(cli.home.parent / place)
    cli.script(delegate(subagent_type="reviewer"), said("fine"), said("done"))
    done = cli.run(*STREAM)
    assert (done.code, kinds(cli)) == (0, ["general-purpose", "reviewer"])
    child = cli.bodies()[1]
    assert child["system"][0]["text"].startswith("You review.\n\n")
    assert [tool["name"] for tool in child["tools"]] == ["Read"]
    assert done.frames[-1]["agent_usage"]["reviewer"]["input_tokens"] == 10


@pytest.mark.parametrize("folder", [".caliban", ".claude"])
def test_kinds_of_a_project_are_used_where_it_is_trusted(cli, folder):
    agent_file(cli.work / folder / "agents")
    cli.script(said("no"), said("yes"))
    refused = cli.run(*STREAM)
    assert kinds(cli) == ["general-purpose"]
    assert "are not used until this project is trusted" in refused.err
    trusted = cli.run(*STREAM, "--trust-project")
    assert (kinds(cli, 1), trusted.err) == (["general-purpose", "reviewer"], "")


def test_a_kind_of_the_project_stands_before_the_persons_own(cli):
    agent_file(cli.home / ".config" / "caliban" / "agents", REVIEWER.replace("You review.", "Mine."))
    agent_file(cli.work / ".caliban" / "agents")
    cli.script(delegate(subagent_type="reviewer"), said("fine"), said("done"))
    cli.run(*STREAM, "--trust-project")
    assert cli.bodies()[1]["system"][0]["text"].startswith("You review.")


@pytest.mark.parametrize("flags", [("--bare",), ("--setting-sources", "managed")])
def test_flags_leave_the_files_of_agents_out(cli, flags):
    agent_file(cli.home / ".config" / "caliban" / "agents")
    cli.script(said("ok"))
    cli.run(*STREAM, *flags)
    assert kinds(cli) == ["general-purpose"]


def test_a_broken_file_of_an_agent_is_named_and_the_run_goes_on(cli):
    agent_file(cli.home / ".config" / "caliban" / "agents", "no front matter", "broken.md")
    cli.script(said("ok"))
    done = cli.run("-p", "go")
    assert (done.code, done.out) == (0, "ok\n")
    assert "broken.md is left out: it has no description" in done.err


def test_a_tool_that_a_kind_of_agent_names_and_nobody_has_is_told(cli):
    agent_file(
        cli.home / ".config" / "caliban" / "agents", REVIEWER.replace("tools: Read", "tools: Raed, WebFetch")
    )
    cli.script(said("ok"))
    (line,) = cli.run("-p", "go", "--quiet").err.splitlines()
    assert line == "caliban: the agent reviewer names the tool Raed, which is not there; did you mean Read?"


def test_the_setting_agent_says_which_kind_is_taken_where_none_is_named(cli):
    agent_file(cli.home / ".config" / "caliban" / "agents")
    cli.configure('agent = "reviewer"\n')
    cli.script(delegate(), said("fine"), said("done"))
    cli.run(*STREAM)
    assert kinds(cli) == ["reviewer", "general-purpose"]
    assert cli.bodies()[1]["system"][0]["text"].startswith("You review.")


def test_an_agent_that_only_plans_is_offered_what_reads(cli):
    text = REVIEWER.replace("tools: Read", "permissionMode: plan")
    agent_file(cli.home / ".config" / "caliban" / "agents", text)
    cli.script(delegate(subagent_type="reviewer"), said("fine"), said("done"))
    cli.run(*STREAM)
    assert sorted(tool["name"] for tool in cli.bodies()[1]["tools"]) == ["Glob", "Grep", "Read", "Skill"]


def test_a_model_that_cannot_call_tools_is_offered_no_agents(cli):
    cli.configure('[provider.anthropic.models."plain"]\ntools = false\n')
    cli.script(said("done"))
    done = cli.run(*STREAM, "--model", "plain")
    assert (done.code, done.frames[0]["tools"]) == (0, [])
    assert "tools" not in cli.bodies()[0]


def test_a_person_reads_which_agent_has_which_task_and_what_it_calls(cli):
    (cli.work / "a.py").write_text("x = 1\n")
    scouts = cli.home / ".config" / "caliban" / "agents"
    scouts.mkdir(parents=True)
    (scouts / "scout.md").write_text("---\ndescription: looks around\n---\nLook.\n")
    first = (delegate(subagent_type="scout"), use("Read", {"file_path": "a.py"}), said("1"))
    cli.script(*first, delegate(id="d2"), said("2"), said("done"))
    done = cli.run("-p", "go")
    assert done.code == 0, done.err
    lines = [line for line in done.err.splitlines() if line.startswith("[")]
    assert lines == ["[Agent scout: a look]", "[scout: Read a.py]", "[Agent a look]"]
