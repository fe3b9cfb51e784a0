"""A hint is followed to the letter, and helps: what is printed is pasted."""

from __future__ import annotations

import re
import shlex

import pytest

from caliban_provider_anthropic.testing import wire

SAID = "It works."
ANSWER = wire.exchange(wire.text(SAID))


def pasted(text: str, pattern: str) -> list[str]:
    """The words that `pattern` finds in what was printed, as a shell would read them."""
    match = re.search(pattern, text)
    assert match is not None, text
    return shlex.split(match[1])


MENDED_BY_FLAGS = [
    (("-r", "fresh"), (), r"caliban (--session fresh) begins"),
    (("--sessions-dir", "/proc/none"), (), r"or (--no-save)$"),
    (("--include-partial-messages",), ("--include-partial-messages",), r"(--output-format stream-json)$"),
    (("--effort", "high"), (), r"here that is (--settings '[^']+')"),
    (("--modle", "m"), ("m",), r"did you mean (--model)\?"),
    (("--output-format", "jsn"), ("--output-format",), r"did you mean (json)\?"),
    (("--permission-mode", "pln"), ("--permission-mode",), r"did you mean (plan)\?"),
    (("--provider", "anthropc"), ("--provider",), r"did you mean (anthropic)\?"),
    (("--setting-sources", "usr"), ("--setting-sources",), r"--setting-sources takes \w+, (user)"),
]


@pytest.mark.parametrize(("wrong", "kept", "pattern"), MENDED_BY_FLAGS, ids=lambda value: str(value)[:40])
def test_flags_that_a_hint_names_mend_the_command_line(cli, wrong, kept, pattern):
    cli.script(ANSWER)
    refused = cli.run("-p", "hi", *wrong)
    assert refused.code != 0 and cli.server.requests == ()
    words = pasted(refused.err.rstrip(), pattern)
    flags = [*words, *kept] if words[0].startswith("--") and kept == ("m",) else [*kept, *words]
    done = cli.run("-p", "hi", *flags)
    assert (done.code, SAID in done.out) == (0, True), done.err


@pytest.mark.parametrize("wrong", [("modls", "--providers"), ("perms", "explan", "Read", "{}")])
def test_a_command_that_a_hint_names_is_one(cli, wrong):
    refused = cli.run(*wrong)
    assert refused.code == 64
    (meant,) = pasted(refused.err, r"did you mean (?:caliban )?(\w+)\?")
    right = [meant if word in ("modls", "explan") else word for word in wrong]
    assert cli.run(*right).code == 0


def test_a_file_that_is_too_large_is_read_with_the_flag_of_the_hint(cli):
    (cli.work / "big").write_text("x" * 300_000)
    refused = cli.run("-p", "see @big")
    assert refused.code == 64
    (flag,) = pasted(refused.err, r"raise (--[a-z-]+),")
    cli.script(ANSWER)
    done = cli.run("-p", "see @big", flag, "400000")
    assert done.code == 0, done.err


def test_a_key_of_the_settings_under_the_name_of_the_hint_says_nothing_more(cli):
    cli.script(ANSWER, ANSWER)
    warned = cli.run("-p", "hi", "--settings", '{"max_turn": 5}')
    (name,) = pasted(warned.err, r"did you mean `(\w+)`\?")
    done = cli.run("-p", "hi", "--settings", f'{{"{name}": 5}}', "--quiet")
    assert (done.code, done.err) == (0, "")


def test_a_workspace_is_trusted_with_the_flag_of_the_warning(cli):
    (cli.work / ".caliban").mkdir()
    (cli.work / ".caliban" / "settings.toml").write_text('model = "m"\n')
    cli.script(ANSWER, wire.exchange(wire.text(SAID), model="m"))
    warned = cli.run("-p", "hi")
    (flag,) = pasted(warned.err, r"is trusted: caliban trust add, or (--[a-z-]+) for one run")
    done = cli.run("-p", "hi", flag)
    assert (done.code, "trusted" in done.err) == (0, False), done.err
    assert [body["model"] for body in cli.bodies()] == [wire.MODEL, "m"]


def test_a_call_that_was_denied_runs_with_the_rule_of_the_refusal(cli):
    call = wire.exchange(wire.tool_use("Bash", {"command": "touch 'a b' && echo it > c"}))
    cli.script(call, ANSWER, call, ANSWER)
    refused = cli.run("-p", "go")
    assert sorted(path.name for path in cli.work.iterdir()) == []
    flags = pasted(refused.err, r"run with (--allow .+), or with --auto-allow")
    assert cli.run("-p", "go", *flags).code == 0
    assert sorted(path.name for path in cli.work.iterdir()) == ["a b", "c"]


def test_a_missing_key_is_stored_by_the_command_of_the_hint(cli):
    refused = cli.run("-p", "hi", env={"ANTHROPIC_API_KEY": ""})
    assert refused.code == 78
    login = pasted(refused.err, r"keep it: caliban ([a-z ]+)\)")
    assert cli.run(*login, stdin=b"sk-ant-0123456789abcdef").code == 0
    cli.script(ANSWER)
    assert cli.run("-p", "hi", env={"ANTHROPIC_API_KEY": ""}).code == 0


def test_an_empty_prompt_is_piped_as_the_hint_says(cli):
    refused = cli.run("-p", "")
    assert refused.code == 64
    flags = pasted(refused.err.rstrip(), r"pipe text into caliban (.+)$")
    cli.script(ANSWER)
    assert cli.run(*flags, stdin=b"hi").code == 0


def test_a_session_goes_on_by_the_words_at_its_end(cli):
    cli.script(ANSWER, ANSWER)
    flags = pasted(cli.run("-p", "one").err.rstrip(), r"go on: caliban (.+)$")
    assert cli.run("-p", "two", *flags).code == 0
    assert [message["role"] for message in cli.bodies()[1]["messages"]] == ["user", "assistant", "user"]
