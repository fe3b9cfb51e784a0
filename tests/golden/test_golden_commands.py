"""What the small commands and wrong usage print, byte for byte."""

from __future__ import annotations

import re

import pytest
from golden_kit import Names, check, transcript

from caliban_provider_anthropic.testing import wire

RULES = """\
[permissions]
allow = ["Bash:git *", "Read"]
deny = ["Bash:rm *", "WebFetch"]

[[permissions.rules]]
pattern = "Bash:curl *"
action = "ask"
reason = "it leaves this machine"
"""
ROUTES = """\
[[router.route]]
id = "first"
purpose = "main_loop"
provider = "anthropic"
model = "claude-opus-4-7"

[[router.route]]
id = "second"
purpose = "main_loop"
provider = "mine"
model = "some-model"
effort_map = { low = "budget=1024" }
"""
SETTINGS = {
    "no TOML": "max_turns = \n",
    "an unknown key": "max_turn = 3\n",
    "another type": '\nmax_turns = "three"\n',
    "a value that is none of a list": '[permissions]\ndefault_mode = "yolo"\n',
    "a rule that forbids nothing": '[permissions]\ndeny = ["Read", ""]\n',
    "an allow that is none": "[permissions]\nallow = [3]\n",
}
USAGES = {
    "flags": [
        ("-p", "hi", "--frobnicate"),
        ("-p", "hi", "--temperature", "9"),
        ("-p", "hi", "--permission-mode", "yolo"),
        ("-c", "-r", "x", "-p", "hi"),
        ("-p", "hi", "--json-schema", '{"type":"banana"}'),
    ],
    "names": [
        ("-p", "hi", "--provider", "banana"),
        ("-p", "hi", "-r", "gone", "--output-format", "json"),
        ("-p", "@pixel.bin"),
        ("perms", "test", "Bash", "[1]"),
    ],
}
CALLS = [
    ("Read", '{"path": "a.txt"}'),
    ("Write", '{"path": "a.txt", "content": "x"}'),
    ("Bash", '{"command": "git status && rm -rf x | tee \\"y z\\""}'),
    ("Bash", '{"command": "curl -s \\"$URL\\" > /tmp/x; echo $(id)"}'),
]
HELPS = (("--help",), ("doctor", "--help"), ("perms", "--help"))


def test_rules_are_explained_in_the_frozen_words(cli):
    cli.configure(RULES)
    written = ""
    for call in CALLS:
        args = ("perms", "explain", *call)
        written += transcript(args, cli.run(*args))
    for args in (("perms", "test", *CALLS[2], "--permission-mode", "plan"),):
        written += transcript(args, cli.run(*args))
    check("commands/perms", Names(cli)(written))


def test_models_routes_and_status_are_listed_in_the_frozen_words(cli):
    routes = cli.home / "routes.toml"
    routes.write_text(ROUTES)
    cli.configure('[provider.mine]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n')
    written = ""
    for args in (
        ("models",),
        ("models", "--json"),
        ("router", "debug", "--config", "../home/routes.toml", "--effort-table"),
        ("status",),
    ):
        cli.script(wire.models("claude-sonnet-4-6", "claude-haiku-4-5", "claude-unheard-of"))
        written += transcript(args, cli.run(*args))
    check("commands/lists", Names(cli)(written))


@pytest.mark.parametrize("title", SETTINGS)
def test_settings_that_are_wrong_are_told_in_the_frozen_words(cli, title):
    cli.configure(SETTINGS[title])
    cli.script(wire.exchange(wire.text("ok")))
    args = ("-p", "hi", "--no-save", "--no-tools")
    file = f"commands/settings-{title.replace(' ', '-')}"
    check(file, Names(cli)(f"{SETTINGS[title]}{transcript(args, cli.run(*args))}"))


@pytest.mark.parametrize("title", USAGES)
def test_wrong_usage_is_told_in_the_frozen_words(cli, title):
    (cli.work / "pixel.bin").write_bytes(b"\0\1\2")
    written = "".join(transcript(args, cli.run(*args)) for args in USAGES[title])
    check(f"commands/usage-{title}", Names(cli)(written))
    assert cli.server.requests == ()


def test_help_has_the_frozen_words(cli):
    """Lines are joined: where the parser of the standard library breaks them differs between its versions."""
    written = "".join(transcript(args, cli.run(*args)) for args in HELPS)
    check("commands/help", re.sub(r"\n {6,}", " ", one_style(written)))


def one_style(text: str) -> str:
    """`text` with flags as newer parsers show them: `-r, --resume NAME` for `-r NAME, --resume NAME`."""
    flat = re.sub(r"(?m)^(  -\w)( \S+), (--[\w-]+)\2", r"\1, \3\2", text)
    return re.sub(r"(?m)(?<=\S) {2,}(?=\S)", " ", flat)
