"""Skills reach the model by the real command: listed in the first request, loaded by a call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caliban_provider_anthropic.testing import wire

OK = wire.text("ok")
WAITS = "are not used until this project is trusted: caliban trust add, or --trust-project for one run"
BUILT_IN = ["commit", "debug", "review", "write-tests"]


def skill(root: Path, name: str, head: str = "", body: str = "Do it.", *, description: str = "d") -> Path:
    path = root / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n{head}---\n{body}\n")
    return path


def own(cli) -> Path:
    return cli.home / ".config" / "caliban" / "skills"


def theirs(cli) -> Path:
    return cli.work / ".caliban" / "skills"


def tool(body: dict) -> dict | None:
    return next((tool for tool in body["tools"] if tool["name"] == "Skill"), None)


def asked(cli, *args: str, env=None):
    """What a run said, and the Skill tool of its first request."""
    cli.script(wire.exchange(OK))
    done = cli.run("-p", "hi", *args, env=env)
    assert done.code == 0, done.err
    return done, tool(cli.bodies()[-1])


def loaded(cli, *args: str, name: str = "own", said: str = "", more: tuple[str, ...] = ()) -> tuple[str, str]:
    """The result of a call of Skill, and what the run said; with the results of `more` calls behind it."""
    calls = [{"name": name, **({"args": said} if said else {})}, *({"name": other} for other in more)]
    exchanges = [wire.exchange(wire.tool_use("Skill", call)) for call in calls]
    cli.script(*exchanges, wire.exchange(OK))
    done = cli.run("-p", "go", *args)
    assert done.code == 0, done.err
    result = cli.bodies()[-1]["messages"][-1]["content"][0]
    content = result["content"]
    return content if isinstance(content, str) else content[0]["text"], done.err


def test_the_first_request_names_the_built_in_skills_and_stays_small(cli):
    _, spec = asked(cli)
    assert spec["description"] == f"Load a skill before you begin such a task: {', '.join(BUILT_IN)}"
    assert len(cli.server.requests[-1].body) - len(str(cli.work)) <= 10_000
    text, _ = loaded(cli, name="review", said="the last commit")
    assert text.startswith('<skill name="review">\n# Review')
    assert "What to review: the last commit" in text


def test_a_persons_skills_are_listed_in_one_order_and_loaded_with_their_files(cli):
    skill(cli.home / ".claude" / "skills", "zeta", "unknown-key: 1\nmetadata:\n  trigger: t\n")
    path = skill(
        own(cli), "own", "allowed-tools: Read, Bash(git log:*)\npaths: '**/*.py'\n", "Go: $ARGUMENTS"
    )
    (path.parent / "references").mkdir()
    (path.parent / "references" / "more.md").write_text("more words")
    done, spec = asked(cli)
    assert spec["description"].splitlines()[1:] == ["- own: d (**/*.py)", "- zeta: d"]
    assert "skill" not in done.err
    assert asked(cli)[1] == spec
    text, _ = loaded(cli, said="now")
    assert "Go: now\n" in text
    assert "Tools meant for it, and no others: Read, Bash(git log:*)" in text
    assert f"Its files, in {path.parent}" in text and "- references/more.md" in text
    assert loaded(cli, more=("own/references/more.md",))[0] == "more words"


@pytest.mark.parametrize(
    "name",
    ["own/../../settings.toml", "own//etc/passwd", "own/out", "own/absent", "own/\x00", "own/" + "x" * 5000],
)
def test_a_file_of_a_skill_is_inside_of_it(cli, name):
    path = skill(own(cli), "own")
    cli.configure("max_turns = 5\n")
    (path.parent / "out").symlink_to("/etc/passwd")
    text, _ = loaded(cli, more=(name,))
    assert "own/" in text and ("outside" in text or "no such file" in text)
    assert "max_turns" not in text and "root:" not in text


def test_a_file_of_a_skill_comes_after_the_skill(cli):
    (skill(own(cli), "own").parent / "a.md").write_text("secret words")
    assert loaded(cli, name="own/a.md")[0] == "load the skill own before its files"


def test_a_skill_of_a_project_waits_for_trust_and_then_stands_first(cli):
    skill(theirs(cli), "commit", body="Theirs.", description="their way")
    skill(cli.work / ".agents" / "skills", "plain")
    done, spec = asked(cli)
    assert "their way" not in json.dumps(spec)
    assert done.err.count(WAITS) == 2
    assert "BUILT" not in done.err
    done, spec = asked(cli, "--trust-project")
    assert spec["description"].splitlines() == [
        "Load a skill before you begin such a task: debug, review, write-tests",
        "- commit: their way",
        "- plain: d",
    ]
    shown = cli.run("trust", "show").out
    assert "(takes the place of the built-in skill commit)" in shown and "Theirs." in shown
    digest = cli.run("trust", "show", "--json").json["digest"]
    assert cli.run("trust", "add", "--yes", "--digest", digest[:12]).code == 0
    assert "their way" in json.dumps(asked(cli)[1])
    skill(theirs(cli), "commit", body="Changed.", description="their way")
    assert "their way" not in json.dumps(asked(cli)[1])


def test_a_denied_skill_is_not_named_and_not_loaded(cli):
    skill(own(cli), "own")
    _, spec = asked(cli, "--deny", "Skill(own)", "--deny", "Skill(rev*)")
    assert spec["description"].splitlines() == [
        "Load a skill before you begin such a task: commit, debug, write-tests"
    ]
    text, _ = loaded(cli, "--deny", "Skill(own)")
    assert "Do it." not in text
    for name in ("user:own", "/own", " own", "OWN"):
        assert "Do it." not in loaded(cli, "--deny", "Skill(own)", name=name)[0]
    assert asked(cli, "--deny", "Skill")[1] is None


@pytest.mark.parametrize("flag", ["--no-skills", "--bare", "--no-tools"])
def test_a_flag_does_without(cli, flag):
    skill(own(cli), "own")
    cli.script(wire.exchange(OK))
    assert cli.run("-p", "hi", flag).code == 0
    assert "Skill" not in [tool["name"] for tool in cli.bodies()[-1].get("tools", [])]
    assert asked(cli, env={"CALIBAN_NO_SKILLS": "1"})[1] is None


def test_a_skill_for_the_person_is_not_offered_and_one_for_the_model_is_no_command(cli):
    skill(own(cli), "mine", "disable-model-invocation: true\n", "For me: $ARGUMENTS")
    skill(own(cli), "its", "user-invocable: false\n")
    _, spec = asked(cli)
    assert spec["description"].splitlines()[1:] == ["- its: d"]
    assert "is for the person to call" in loaded(cli, name="mine")[0]
    cli.script(wire.exchange(OK))
    assert cli.run("-p", "/mine a b").code == 0
    assert "For me: a b" in json.dumps(cli.bodies()[-1]["messages"])
    done = cli.run("-p", "/its")
    assert (done.code, "is for the model alone" in done.err) == (78, True)


def test_one_broken_skill_costs_no_other(cli):
    skill(own(cli), "good")
    skill(own(cli), "other").write_text("---\nname: wrong\ndescription: d\n---\nx\n")
    skill(own(cli), "open").write_text("---\nname: open\ndescription: d\n")
    skill(own(cli), "flag").write_text("---\nname: flag\ndescription: d\nuser-invocable: perhaps\n---\nx\n")
    skill(own(cli), "huge").write_bytes(b"---\nname: huge\ndescription: d\n---\n" + b"x" * (10 << 20))
    (own(cli) / "link").mkdir()
    (own(cli) / "link" / "SKILL.md").symlink_to("/etc/passwd")
    done, spec = asked(cli)
    assert spec["description"].splitlines()[1:] == ["- good: d"]
    for words in (
        f"{own(cli)}/other/SKILL.md:2: `name` must be the name of its folder, 'other', not 'wrong'",
        f"{own(cli)}/open/SKILL.md:1: the front matter has no end",
        f"{own(cli)}/flag/SKILL.md:4: `user-invocable` must be true or false, not 'perhaps'",
        "huge/SKILL.md is left out: ",
        "link/SKILL.md: it is a link to outside of",
    ):
        assert done.err.count(words) == 1, done.err
    row = next(r for r in cli.run("doctor", "--json").json["checks"] if r["name"] == "skills")
    assert (row["state"], "5 skills, 0 command files; " in row["hint"]) == ("warn", True)


def test_many_skills_stay_within_a_budget(cli):
    for number in range(200):
        skill(own(cli), f"skill-{number:03}", description="long words " * 60)
    _, spec = asked(cli)
    assert len(spec["description"]) < 9_000
    assert spec["description"].count("\n- skill-") == 200


def test_an_agent_begins_with_the_skills_that_it_names(cli):
    skill(own(cli), "own", body="The words of the skill.")
    agents = cli.home / ".config" / "caliban" / "agents"
    agents.mkdir(parents=True)
    (agents / "a.md").write_text("---\nname: a\ndescription: d\nskills: own, absent\n---\nYou work.\n")
    call = wire.tool_use("Agent", {"description": "x", "prompt": "go", "subagent_type": "a"})
    cli.script(wire.exchange(call), wire.exchange(wire.text("done")), wire.exchange(OK))
    done = cli.run("-p", "go")
    assert done.code == 0, done.err
    system = json.dumps(cli.bodies()[1]["system"])
    assert "You work." in system and "The words of the skill." in system
    assert "the agent a goes without the skill absent: there is no skill 'absent'" in done.err


def test_the_command_lists_and_shows(cli):
    skill(own(cli), "commit", "model: x\n", body="Mine \u202e\x1b[31m.", description="my way")
    done = cli.run("skills")
    assert done.code == 0, done.err
    assert [line.split()[:2] for line in done.out.splitlines()] == [
        ["user", "commit"],
        *(["builtin", name] for name in BUILT_IN[1:]),
        ["builtin", "builtin:commit"],
    ]
    rows = [json.loads(line) for line in cli.run("skills", "list", "--json").out.splitlines()]
    assert rows[0]["notes"] == ["model does nothing in this version"]
    shown = cli.run("skills", "show", "commit").out
    assert "Mine " in shown and "\\u202e" in shown and "\x1b" not in shown
    assert "# Commit" in cli.run("skills", "show", "builtin:commit").out
    done = cli.run("skills", "show", "comit")
    assert (done.code, "did you mean commit?" in done.err) == (66, True)


def test_skills_do_not_depend_on_the_sources_that_are_left_out(cli):
    skill(own(cli), "own")
    skill(theirs(cli), "its")
    _, spec = asked(cli, "--setting-sources", "managed", "--trust-project")
    assert "\n" not in spec["description"]
    _, spec = asked(cli, "--setting-sources", "project", "--trust-project")
    assert spec["description"].splitlines()[1:] == ["- its: d"]
