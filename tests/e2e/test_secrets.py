"""Keys that the process holds: nothing that it starts, asks, shows or stores gives one away."""

from __future__ import annotations

import base64
import json
import sys
from urllib.parse import quote

import pytest

from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

KEY = 'sk-ant-CANARY0123/456+789"abc\\def-ghijklmnopqrstuvwxyz'
ENCODED = (
    KEY,
    json.dumps(KEY)[1:-1],
    quote(KEY, safe=""),
    KEY.encode().hex(),
    *(base64.b64encode(b"x" * skip + KEY.encode()).decode()[4:40] for skip in range(3)),
)


def everything(cli, done) -> str:
    """All that left the process, but for the header that the key is for, and files kept for going back.

    Those are the workspace's own, byte for byte, and as private as they can be.
    """
    files = (path for path in cli.home.rglob("*") if path.is_file() and ".caliban" not in path.parts)
    stored = (path.read_bytes().decode("utf-8", "replace") for path in files)
    sent = (request.body.decode() for request in cli.server.requests)
    return "\n".join((done.out, done.err, *stored, *sent))


def assert_kept(cli, done) -> None:
    seen = everything(cli, done)
    assert [form for form in ENCODED if form in seen] == []


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
@pytest.mark.parametrize(
    "command",
    [
        "grep -a KEY /proc/*/environ",
        "cat /proc/$PPID/environ",
        'cat "$OLDPWD/key" key | tee copy; base64 key; base64 -w0 key; xxd -p key',
        "python3 encoded.py",
        "for n in 1 2 3 4 5 6 7 8 9; do printf x; cat key; done; cat key >&2; exit 3",
        "yes | head -c 15350; cat key; yes | head -c 40000",
    ],
    ids=["environ", "parent", "file", "encoded", "repeated", "at-the-cut"],
)
def test_no_command_brings_the_key_to_the_model_a_frame_or_the_session(cli, command, output):
    (cli.work / "key").write_text(KEY)
    (cli.work / "encoded.py").write_text(
        "import json, urllib.parse\nkey = open('key').read()\n"
        "print(json.dumps(key), urllib.parse.quote(key, ''))"
    )
    cli.script(
        wire.exchange(wire.tool_use("Bash", {"command": command})),
        wire.exchange(wire.text("done")),
    )
    done = cli.run("-p", "go", "--allow", "Bash", "--output-format", output, env={"ANTHROPIC_API_KEY": KEY})
    assert done.code == 0, done.err
    assert len(cli.server.requests) == 2
    assert_kept(cli, done)


@pytest.mark.parametrize("partial", [(), ("--include-partial-messages",)], ids=["whole", "partial"])
def test_a_reply_that_repeats_the_key_in_pieces_is_masked(cli, partial):
    pieces = [KEY[start : start + 3] for start in range(0, len(KEY), 3)]
    cli.script(wire.exchange(wire.text("it is ", *pieces, " I think")))
    flags = ("--output-format", "stream-json", *partial)
    done = cli.run("-p", "go", *flags, env={"ANTHROPIC_API_KEY": KEY})
    assert done.of("result")[0]["result"] == "it is [secret] I think"
    text = "".join(frame["delta"] for frame in done.of("text"))
    assert text == ("it is [secret] I think" if partial else "")
    assert_kept(cli, done)


def test_a_prompt_a_file_and_an_error_are_masked(cli):
    (cli.work / "key").write_text(KEY)
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "key"})), wire.exchange(wire.text("ok")))
    done = cli.run("-p", f"use {KEY}", "--output-format", "json", env={"ANTHROPIC_API_KEY": KEY})
    assert done.code == 0
    assert_kept(cli, done)
    refused = cli.run("-p", "hi", "--workspace", f"/no/{KEY}", env={"ANTHROPIC_API_KEY": KEY})
    assert refused.code != 0


def test_other_credentials_of_the_environment_are_masked_once_programs_run(cli):
    canary = "ghp_0123456789abcdefghijCANARY"
    (cli.work / "env").write_text(canary)
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "cat env"})), wire.exchange(wire.text("ok")))
    done = cli.run("-p", "go", "--allow", "Bash", env={"MY_TOKEN": canary})
    assert canary not in everything(cli, done)


def test_the_local_placeholder_for_a_key_is_a_word_like_any_other(cli):
    cli.script(wire.exchange(wire.text("a local server needs no test-key")))
    assert cli.run("-p", "hi").out == "a local server needs no test-key\n"


def test_a_child_finds_neither_keys_nor_memory_of_its_host(cli):
    look = "tr '\\0' '\\n' < /proc/$PPID/environ | grep -c CANARY; env | grep -c CANARY"
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": look})), wire.exchange(wire.text("ok")))
    cli.run("-p", "go", "--allow", "Bash", env={"ANTHROPIC_API_KEY": KEY})
    shown = cli.bodies()[1]["messages"][-1]["content"][0]["content"]
    text = shown if isinstance(shown, str) else shown[0]["text"]
    assert text.split("→ Stdout:\n")[1].splitlines()[:2] == ["0", "0"], text


def test_who_writes_summaries_is_told_no_key_either(cli):
    folder = cli.work / "old"  # a session that was written before anything was masked
    folder.mkdir()
    roles = ("user", "assistant") * 7
    texts = [f"{n}. {KEY} " + "words " * 200 for n in range(14)]
    messages = [{"id": f"m{n}", "role": roles[n], "content": text} for n, text in enumerate(texts)]
    (folder / "s.json").write_text(json.dumps({"messages": messages}))
    cli.script(wire.exchange(wire.text(f"They said {KEY}."), model="claude-haiku-4-5"))
    overrides = '{"model_overrides": {"summarization": "claude-haiku-4-5"}}'
    formats = ("--input-format", "stream-json", "--output-format", "stream-json")
    flags = (*formats, "--no-tools", "-r", "s", "--sessions-dir", str(folder), "--settings", overrides)
    frames = b'{"type":"control","subtype":"compact"}\n'
    done = cli.run("-p", *flags, stdin=frames, env={"ANTHROPIC_API_KEY": KEY})
    assert [body["model"] for body in cli.bodies()] == ["claude-haiku-4-5"], done.err
    assert [f["subtype"] for f in done.of("system")][-1] == "compact_boundary"
    assert_kept(cli, done)


def test_what_an_account_is_reached_by_stays_in_commands_and_answers(cli):
    env = {
        "ANTHROPIC_BASE_URL": cli.server.url,
        "AWS_REGION": "eu-central-1",
        "OPENAI_MODEL": "gpt-5-mini-2025-08-07",
        "DATABASE_URL": "postgres://app:app@localhost:5432/app",
    }
    words = " ".join(env.values())
    cli.script(
        wire.exchange(wire.tool_use("Bash", {"command": "true"})),
        wire.exchange(wire.tool_use("Bash", {"command": f"echo {words} > said; cat said"})),
        wire.exchange(wire.text(f"It said {words}.")),
    )
    done = cli.run("-p", "go", "--allow", "Bash", env=env)
    assert (done.code, done.out) == (0, f"It said {words}.\n")
    assert (cli.work / "said").read_text() == f"{words}\n"
    assert words in json.dumps(cli.bodies()[-1]["messages"][-1])
