"""Output styles reach the system prompt by the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caliban_provider_anthropic.testing import wire

OK = wire.text("ok")


def style(root: Path, name: str, head: str = "", body: str = "Be brief.") -> Path:
    path = root / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: d\n{head}---\n{body}\n")
    return path


def own(cli) -> Path:
    return cli.home / ".config" / "caliban" / "output-styles"


def theirs(cli) -> Path:
    return cli.work / ".caliban" / "output-styles"


def system(cli, *args: str, env=None) -> tuple[str, str]:
    """The system prompt of a run, and what the run said."""
    cli.script(wire.exchange(OK))
    done = cli.run("-p", "hi", *args, env=env)
    assert done.code == 0, done.err
    return "".join(block["text"] for block in cli.bodies()[-1].get("system", [])), done.err


def chosen(name: str) -> tuple[str, str]:
    return ("--settings", json.dumps({"output_style": name}))


def test_the_default_style_changes_not_a_byte(cli):
    plain, _ = system(cli)
    assert plain.startswith("You are an assistant") and "output-style" not in plain
    assert system(cli, *chosen("default"))[0] == plain


@pytest.mark.parametrize("name", ["proactive", "explanatory", "learning", "Learning"])
def test_a_built_in_style_stands_before_the_rest(cli, name):
    plain, _ = system(cli)
    text, err = system(cli, *chosen(name))
    assert text.startswith(f'<output-style name="{name.lower()}">\n')
    assert text.endswith(f"\n</output-style>\n\n{plain}")
    assert "output" not in err
    assert ("TODO(human)" in text) == (name.lower() == "learning")


def test_settings_and_a_variable_choose_and_a_flag_for_the_prompt_does_without(cli):
    style(own(cli), "brief")
    cli.configure('output_style = "brief"\n')
    assert '<output-style name="brief">\nBe brief.\n</output-style>' in system(cli)[0]
    assert "learning" in system(cli, env={"CALIBAN_OUTPUT_STYLE": "learning"})[0]
    assert system(cli, "--system", "mine")[0] == "mine"
    assert system(cli, "--no-system")[0] == ""
    assert "output-style" not in system(cli, "--bare")[0]


@pytest.mark.parametrize("key", ["keep_coding_instructions", "keep-coding-instructions"])
def test_a_style_may_leave_out_the_words_on_how_to_work(cli, key):
    style(own(cli), "poet", f"{key}: false\n", "Rhyme.")
    text, _ = system(cli, *chosen("poet"))
    assert "How to work" not in text and f"Working directory: {cli.work}" in text and "Rhyme." in text


def test_an_unknown_style_of_a_person_ends_the_start_with_what_is_near(cli):
    style(own(cli), "brief")
    done = cli.run("-p", "hi", *chosen("breif"))
    assert done.code == 78
    assert "output_style: there is no output style 'breif'" in done.err
    assert "did you mean brief? one of brief, default, proactive, explanatory, learning" in done.err
    done = cli.run("-p", "hi", env={"CALIBAN_OUTPUT_STYLE": "../../etc/passwd"})
    assert (done.code, len(cli.server.requests)) == (78, 0)
    checks = cli.run("doctor", "--json", *chosen("breif")).json["checks"]
    assert [row["state"] for row in checks if row["name"] == "output_style"] == ["fail"]


def test_a_style_of_a_project_waits_for_trust(cli):
    style(theirs(cli), "brief", body="Obey the repository.")
    (cli.work / ".caliban" / "settings.toml").write_text('output_style = "brief"\n')
    text, err = system(cli)
    assert "output-style" not in text
    assert "brief.md is not used until this project is trusted" in err
    assert "the default one is taken" in err
    assert "Obey the repository." in system(cli, "--trust-project")[0]
    assert "style .caliban/output-styles/brief.md" in cli.run("trust", "show").out
    style(own(cli), "brief", body="Mine.")
    assert "Mine." in system(cli)[0]  # the project may choose among those of a person
    assert "Obey" in system(cli, "--trust-project")[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "---\nname: other\ndescription: d\n---\nx",
            ":2: `name` must be the name of the file, 'x', not 'other'",
        ),
        ("---\nname: x\n---\nx", ":1: `description` is missing"),
        (
            "---\nname: x\ndescription: d\nforce_for_plugin: 3\n---\nx",
            ":4: `force-for-plugin` must be true or",
        ),
        ("no front matter", ":1: expected a line of ---"),
        ("---\nname: x\ndescription: d\nname: x\n---\n", ":1: 'name' stands twice"),
    ],
)
def test_a_broken_style_is_named_where_it_was_chosen(cli, text, words):
    style(own(cli), "x").write_text(text)
    assert "x.md" not in system(cli)[1]
    done = cli.run("-p", "hi", *chosen("x"))
    assert (done.code, f"{own(cli)}/x.md{words}" in done.err) == (78, True), done.err
    assert words in cli.run("styles").err


def test_what_only_plugins_may_do_is_named(cli):
    style(own(cli), "x", "force_for_plugin: true\n")
    text, err = system(cli, *chosen("x"))
    assert "Be brief." in text
    assert "`force-for-plugin` is for the styles of plugins, and does nothing here" in err


def test_a_resumed_session_takes_the_style_of_the_run(cli):
    for args in (("--session", "s"), ("-r", "s", *chosen("learning")), ("-r", "s")):
        text, _ = system(cli, *args)
        assert text.count("output-style") == (2 if "learning" in args[-1] else 0)


def test_the_command_lists_and_shows(cli):
    style(own(cli), "brief")
    cli.configure('output_style = "brief"\n')
    lines = cli.run("styles").out.splitlines()
    assert lines[0].split()[:3] == ["*", "user", "brief"]
    assert len(lines) == 5
    rows = [json.loads(line) for line in cli.run("styles", "list", "--json").out.splitlines()]
    assert [row["name"] for row in rows if row["taken"]] == ["brief"]
    assert "Be brief." in cli.run("styles", "show", "brief").out
    assert "adds nothing" in cli.run("styles", "show", "default").out
    assert cli.run("styles", "show", "brie").code == 66
