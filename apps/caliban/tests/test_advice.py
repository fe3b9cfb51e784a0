"""What the command suggests exists, and is never the opposite of what was meant."""

from __future__ import annotations

import re

import pytest

from caliban.cli.commands import COMMANDS, LATER_COMMANDS, find_command, first_word
from caliban.cli.foreign import COMMANDS as FOREIGN_COMMANDS
from caliban.cli.foreign import FLAGS, TOOLS
from caliban.cli.groups import GROUPS, LATER_FLAGS
from caliban.cli.help import build_parser, command_parser, full_help, short_help
from caliban.cli.lookalike import lookalike
from caliban.cli.parser import parse
from caliban.errors import UsageError
from caliban_tools_builtin import builtin_specs

SPELLINGS = {name for group in GROUPS for row in group.flags for name in row.spellings}
NAMES = {command.name for command in COMMANDS}


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_of_another_tool_is_answered_with_one_that_exists(name):
    assert name not in SPELLINGS and name not in LATER_FLAGS
    words = FLAGS[name]
    assert set(re.findall(r"(?<!\S)--?[a-zA-Z][\w-]*", words)) <= SPELLINGS
    assert set(re.findall(r"caliban (\w+)", words)) <= NAMES
    with pytest.raises(UsageError, match="there is no flag") as caught:
        parse(["-p", "hi", name], {})
    assert f"here that is {words}; " in caught.value.hint


def test_words_of_other_tools_lead_to_what_exists():
    assert set(FOREIGN_COMMANDS.values()) <= NAMES
    assert not set(FOREIGN_COMMANDS) & (NAMES | set(LATER_COMMANDS))
    assert set(TOOLS.values()) <= {spec.name for spec in builtin_specs()}


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("name", sorted(name for name in SPELLINGS if name.startswith("--")))
def test_a_flag_with_one_letter_too_many_is_recognised_and_never_negated(name):
    with pytest.raises(UsageError) as caught:
        parse(["-p", "hi", f"{name}x"], {})
    meant = re.search(r"did you mean (\S+)\?", caught.value.hint)
    assert meant is None or meant[1].startswith("--no-") is name.startswith("--no-")


@pytest.mark.parametrize("word", ["--tools", "--append-system-prompt", "--permissions", "--hooks", "--save"])
def test_no_negation_is_suggested_for_what_is_asked_for(word):
    with pytest.raises(UsageError) as caught:
        parse(["-p", "hi", word], {})
    assert "--no-" not in caught.value.hint


def test_the_value_of_a_flag_that_does_not_exist_is_not_repeated():
    with pytest.raises(UsageError) as caught:
        parse(["-p", "hi", "--api-key", "sk-secret", "--token=sk-secret"], {})
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("doctr", "doctor"),
        ("Doctor", "doctor"),
        ("docter", "doctor"),
        ("modles", "models"),
        ("comfig", "config"),
        ("sesions", "sessions"),
        ("lgoin", "login"),
        ("hlep", "help"),
        ("auth", "login"),
        ("explain", None),
        ("hi", None),
        ("fix", None),
        ("summarise", None),
        ("what is doctor", None),
    ],
)
def test_a_word_within_two_letters_of_a_command_is_taken_for_it(word, command):
    assert lookalike(word) == command


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["doctor"], ("doctor", 0, False)),
        (["--bare", "doctor"], ("doctor", 1, False)),
        (["--model", "m", "doctor"], ("doctor", 2, False)),
        (["--model=m", "doctor"], ("doctor", 1, False)),
        (["-r", "s", "doctor"], ("doctor", 2, False)),
        (["-rs", "doctor"], ("doctor", 1, False)),
        (["-cr", "s", "doctor"], ("doctor", 2, False)),
        (["-p", "doctor"], None),
        (["-pdoctor"], None),
        (["--print=doctor"], None),
        (["--prompt", "doctor"], None),
        (["-p", "--bare", "doctor"], ("doctor", 2, True)),
        (["doctor", "-p"], ("doctor", 0, True)),
        (["--quiet", "--", "doctor"], ("doctor", 2, False)),
        (["-p", "-", "doctor"], ("doctor", 2, True)),
        (["-"], ("-", 0, False)),
        ([], None),
    ],
)
def test_the_first_word_is_found_behind_flags_and_their_values(arguments, expected):
    word = first_word(arguments)
    assert (word and (word.text, word.place, word.is_prompt)) == expected


@pytest.mark.parametrize("arguments", [["doctr"], ["--bare", "doctr"], ["--", "doctor"], ["--", "modls"]])
def test_a_word_that_resembles_a_command_is_never_a_prompt(arguments):
    with pytest.raises(UsageError, match="there is no command"):
        parse(arguments, {})


def test_a_prompt_by_flag_may_be_any_word():
    assert parse(["-p", "doctr"], {}).prompt.print_prompt == "doctr"
    assert parse(["doctr", "-p"], {}).prompt.prompt == "doctr"
    assert parse(["doctr this text"], {}).prompt.prompt == "doctr this text"


def test_help_keeps_within_eighty_columns_and_the_short_one_within_a_screen():
    texts = [full_help(), short_help(), *(command_parser(command).format_help() for command in COMMANDS)]
    assert [line for text in texts for line in text.splitlines() if len(line) > 80] == []
    assert len(short_help().splitlines()) <= 24


def test_help_shows_every_flag_and_every_command():
    text = full_help()
    assert [name for name in SPELLINGS if name not in text] == []
    assert [command.summary for command in COMMANDS if f"caliban {command.name}" not in text] == []
    assert "137" in text
    assert build_parser().format_help() == text


@pytest.mark.parametrize(
    "name", ["include_partial_messages", "include_dispatch_events", "replay_user_messages"]
)
@pytest.mark.parametrize("format_name", ["text", "json"])
def test_a_flag_about_frames_is_refused_where_there_are_none(name, format_name):
    flag = f"--{name.replace('_', '-')}"
    with pytest.raises(UsageError, match=f"{flag} speaks of frames"):
        parse(["-p", "hi", flag, "--output-format", format_name], {})


def test_a_command_is_advised_of_flags_that_it_has():
    with pytest.raises(UsageError, match="no flag --yes") as caught:
        call = find_command(["perms", "list", "--yes"])
        assert call is not None
        command_parser(call[0]).parse_args(call[1])
    assert "--permission-mode" not in (caught.value.hint or "")
