"""The tables of flags, commands and formats say the same as the code that they name."""

import shutil
import subprocess

import msgspec
import pytest
from hang_guard import HANG_S
from hypothesis import example, given
from hypothesis import strategies as st

from caliban.cli.commands import COMMANDS, LATER_COMMANDS, every_command, find_command
from caliban.cli.completion import SCRIPTS
from caliban.cli.formats import OUTPUT_FORMATS, output_format
from caliban.cli.groups import GROUPS, LATER_FLAGS
from caliban.cli.help import EXITS, build_parser, command_parser
from caliban.cli.options import Options, OutputOptions
from caliban.cli.parser import parse, parse_command
from caliban.cli.plain import plain_values
from caliban.cli.tables.general import SHELLS
from caliban.errors import UsageError
from caliban_headless import exit_codes
from caliban_model_router import PURPOSES
from caliban_model_router.effort import LEVELS

BASH = shutil.which("bash")
BY_NAME = {command.name: command for command in COMMANDS}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_is_there_and_has_a_help(command):
    assert callable(command.load())
    assert command.summary in build_parser().format_help()
    assert command_parser(command).format_help().startswith(f"usage: caliban {command.name} ")


@pytest.mark.parametrize("row", OUTPUT_FORMATS, ids=lambda row: row.name)
def test_every_format_has_an_encoder_that_begins_and_ends(row):
    encoder = row.load()(OutputOptions(output_format=row.name))
    assert {"begin", "prompt", "event", "result"} <= set(dir(encoder))


def test_the_first_format_is_that_of_nobodys_choice():
    assert output_format(None) == output_format("text") == OUTPUT_FORMATS[0]


def test_each_field_of_the_options_has_its_flag_and_each_flag_its_field():
    fields = {
        field.name: {inner.name for inner in msgspec.structs.fields(field.type)}
        for field in msgspec.structs.fields(Options)
    }
    flags = {group.name: {row.field for row in group.flags} for group in GROUPS if group.name}
    flags["output"].remove("print_prompt")  # one flag with two sides: that it is there, and its words
    flags["output"].add("print_flag")
    flags["prompt"].add("print_prompt")
    assert flags == fields


def test_nothing_is_both_there_and_put_off():
    spellings = {name for group in GROUPS for row in group.flags for name in row.spellings}
    assert set(BY_NAME) & set(LATER_COMMANDS) == set()
    assert spellings & set(LATER_FLAGS) == set()


@pytest.mark.parametrize("name", LATER_COMMANDS)
def test_a_command_that_is_put_off_is_refused_with_its_reason(name):
    with pytest.raises(UsageError, match=f"there is no command '{name}'") as caught:
        parse([name, "list"], {})
    assert caught.value.hint.startswith(f"{LATER_COMMANDS[name]}; ")


@pytest.mark.parametrize("name", LATER_FLAGS)
def test_a_flag_that_is_put_off_is_refused_with_its_reason(name):
    with pytest.raises(UsageError, match=f"{name} is not available yet: {LATER_FLAGS[name]}"):
        parse([f"{name}=x", "hi"], {})


def test_the_choices_of_router_debug_are_those_of_the_router():
    choices = {row.field: row.how.get("choices") for row in BY_NAME["router"].flags}
    assert (choices["purpose"], choices["effort"]) == (PURPOSES, LEVELS)


def test_the_codes_of_help_are_those_of_the_face():
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert set(EXITS) == codes


def test_the_name_of_each_command_is_that_of_its_row():
    assert tuple(row.name for row in COMMANDS) == COMMANDS.names
    assert [COMMANDS.find(name) for name in COMMANDS.names] == list(COMMANDS[:])
    assert COMMANDS[-1] == COMMANDS.find("version")
    assert COMMANDS.find("nobody") is None


def test_a_flag_takes_a_value_in_commands_where_it_does_in_runs():
    of_runs = {name: row.takes_value for group in GROUPS for row in group.flags for name in row.spellings}
    rows = [row for command in every_command() for row in command.flags if not row.is_positional]
    assert [
        row for row in rows for name in row.names if of_runs.get(name, row.takes_value) != row.takes_value
    ] == []


PIECES = st.one_of(
    st.sampled_from([name for group in GROUPS for row in group.flags for name in row.spellings]),
    st.sampled_from(
        [
            "hi",
            "-",
            "--",
            "",
            "-5",
            "5",
            "0.5",
            "text",
            "stream-json",
            "two words",
            "-two words",
            "-cp",
            "-phi",
            "-x",
        ]
    ),
    st.sampled_from(["=", "=1", "=hi", "=--", "=-x", "=text"]).flatmap(
        lambda end: st.sampled_from(["--print", "-p", "--model", "--max-turns", "--quiet", "--sandbox"]).map(
            lambda name: name + end
        )
    ),
    st.text(max_size=3),
)


@given(st.lists(PIECES, max_size=6))
@example(
    ["-p", "--model", "m", "say", "--allow", "a", "--allow=b", "--no-restrict-paths", "--max-turns", "3"]
)
@example(["-p", "hello", "--output-format", "json"])
def test_plain_arguments_mean_what_argparse_makes_of_them(arguments):
    parsed = plain_values(arguments, GROUPS)
    if parsed is not None:
        assert parsed == vars(build_parser().parse_args(arguments))


def test_the_arguments_of_usual_runs_are_plain():
    for arguments in (["-p", "hi"], ["-p", "hi", "--model=m", "--allow", "Read", "-c"], ["hi"], ["-p"], []):
        assert plain_values(arguments, GROUPS) is not None
    for arguments in (["-h"], ["hi", "you"], ["--model"], ["--max-turns", "x"], ["--output-format", "x"]):
        assert plain_values(arguments, GROUPS) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["models", "--json"], ("models", ["--json"])),
        (["--config", "x", "router", "debug"], ("router", ["--config", "x", "debug"])),
        (["--config=x", "router", "debug"], ("router", ["--config=x", "debug"])),
        (["--config", "x", "models"], ("models", ["--config", "x"])),
        (["-p", "models"], None),
        (["--config", "router"], None),
        ([], None),
    ],
)
def test_a_command_is_the_first_word_or_stands_after_the_config_that_it_takes(arguments, expected):
    call = find_command(arguments)
    assert (call and (call[0].name, call[1])) == expected


def test_what_is_written_to_a_discreet_command_is_never_repeated():
    with pytest.raises(UsageError) as caught:
        parse_command(BY_NAME["login"], ["--sk-ant-secret"], {})
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"


def test_a_command_takes_the_flags_of_a_run_with_their_variables():
    environ = {"CALIBAN_PROVIDER": "ollama", "CALIBAN_AUTO_ALLOW": "1"}
    options, values = parse_command(BY_NAME["models"], ["--provider", "openai", "--json", "--bare"], environ)
    assert (options.model.provider, options.settings.bare) == ("ollama", True)
    assert not options.permissions.auto_allow  # a flag that it does not take
    assert values["json"] is True


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_of_completion_knows_every_command_and_every_flag(shell):
    script = SCRIPTS[shell]()
    rows = [row for group in GROUPS for row in group.flags if not row.is_positional]
    words = [name.lstrip("-") for row in rows for name in row.spellings]
    assert [word for word in (*words, *BY_NAME) if word not in script] == []


def completed(*words: str) -> list[str]:
    """What bash offers for the last of `words`."""
    quoted = " ".join(f"'{word}'" for word in ("caliban", *words))
    script = f"{SCRIPTS['bash']()}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _caliban\n"
    done = subprocess.run(
        [str(BASH), "--norc", "-c", f'{script}printf "%s\\n" "${{COMPREPLY[@]}}"'],
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_S,
    )
    return done.stdout.split()


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_commands_flags_and_values():
    assert completed("lo") == ["login", "logout"]
    assert completed("--output-format", "") == ["text", "json", "stream-json"]
    assert completed("doctor", "--d") == ["--deep"]
    assert completed("perms", "expl") == ["explain"]
    assert completed("perms", "add", "--re") == ["--reason"]
    assert completed("perms", "list", "--scope", "pr") == ["project"]
    assert completed("hi", "mod") == []
