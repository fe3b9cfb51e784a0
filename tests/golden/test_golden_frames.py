"""The frames of every output format, byte for byte."""

from __future__ import annotations

import base64
import json
import signal
from dataclasses import dataclass

import pytest
from command_kit import Cli, Finished
from golden_kit import FILLER, Names, asked, check, files, part, transcript
from hang_guard import HANG_S

from caliban_common.usage import Usage
from caliban_provider.testing.exchange import Exchange, Pause
from caliban_provider_anthropic.testing import wire

OUTPUTS = {
    "text": (),
    "json": ("--output-format", "json"),
    "stream": ("--output-format", "stream-json"),
    "partial": ("--output-format", "stream-json", "--include-partial-messages"),
}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SCHEMA = json.dumps(
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
)
FRAMES = ("--input-format", "stream-json", "--output-format", "stream-json")
CUT = wire.broken(wire.text("Hel"), after=4, end=wire.error_event("overloaded_error"))
MILLION = Usage(input_tokens=1_000_000, output_tokens=100_000, cache_read_tokens=250_000)
DONE = wire.exchange(wire.text("All ", 'done: "ü" \u2028 <b> 🌍\n'))


def read(id: str, path: str = "note.txt") -> wire.WireBlock:
    return wire.tool_use("Read", {"path": path}, id=id)


def bash(id: str, command: str) -> wire.WireBlock:
    return wire.tool_use("Bash", {"command": command}, id=id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What the server answers, how the command is called, and the outputs that are frozen."""

    answers: tuple[Exchange, ...]
    flags: tuple[str, ...] = ("-p", "go")
    outputs: tuple[str, ...] = ("stream",)
    stdin: bytes | None = None


SCENES = {
    "plain": Scene(
        answers=(wire.exchange(wire.text("hello ", "world"), usage=Usage(input_tokens=12, output_tokens=3)),),
        outputs=tuple(OUTPUTS),
    ),
    "thinking": Scene(
        answers=(
            wire.exchange(
                wire.thinking("Let me ", "think…", signature="U2ln+/=="),
                wire.redacted("ZW5j+/=="),
                wire.text("answer"),
                usage=Usage(input_tokens=90, output_tokens=30, thinking_tokens=20, cache_write_tokens=7),
            ),
        ),
        outputs=("stream", "partial"),
    ),
    "tools": Scene(
        answers=(
            wire.exchange(
                wire.thinking("hm"),
                wire.text("I look."),
                read("t1"),
                bash("t2", "echo 'ü <b>'; echo oops >&2; exit 3"),
                read("t3", "missing.txt"),
                read("t4", "pixel.png"),
                wire.tool_use("Bash", '{"command": "echo', id="t5"),
                wire.tool_use("Nope", {"x": [1, 2.5, None]}, id="t6"),
            ),
            DONE,
        ),
        flags=("-p", "go", "--allow", "Bash:echo *", "--allow", "Bash:exit *"),
        outputs=tuple(name for name in OUTPUTS if name != "text"),
    ),
    "tools-in-turn": Scene(  # a person is told of calls side by side in the order in which they end
        answers=(
            wire.exchange(wire.text("I look."), bash("t1", "echo 'ü <b>'; echo oops >&2; exit 3")),
            wire.exchange(read("t2", "missing.txt")),
            wire.exchange(wire.tool_use("Bash", '{"command": "echo', id="t3")),
            wire.exchange(wire.tool_use("Nope", {"x": [1, 2.5, None]}, id="t4")),
            DONE,
        ),
        flags=("-p", "go", "--allow", "Bash:echo *", "--allow", "Bash:exit *"),
        outputs=("text",),
    ),
    "denied": Scene(
        answers=(wire.exchange(bash("t1", "touch made"), read("t2")), DONE), outputs=("stream", "text")
    ),
    "retry": Scene(
        answers=(wire.failure(429, "rate_limit_error", "slow down", retry_after_ms="20"), DONE),
        outputs=("stream", "text"),
    ),
    "discarded": Scene(answers=(CUT, DONE), outputs=("partial",)),
    "max turns": Scene(
        answers=tuple(wire.exchange(wire.text("on"), read(f"t{number}")) for number in range(2)),
        flags=("-p", "go", "--max-turns", "2"),
    ),
    "budget": Scene(
        answers=tuple(wire.exchange(read(f"t{number}"), usage=MILLION) for number in range(3)),
        flags=("-p", "go", "--max-budget-usd", "5"),
    ),
    "schema": Scene(
        answers=(wire.exchange(wire.text('{"b": "x", "a": 1}')),),
        flags=("-p", "go", "--json-schema", SCHEMA),
        outputs=("json",),
    ),
    "repair": Scene(
        answers=(wire.exchange(wire.text("sorry")), wire.exchange(wire.text('```json\n{"a": 3.0}\n```'))),
        flags=("-p", "go", "--json-schema", SCHEMA),
    ),
    "no repair": Scene(
        answers=tuple(wire.exchange(wire.text('{"a": "x"}')) for _ in range(3)),
        flags=("-p", "go", "--json-schema", SCHEMA),
    ),
    "schema refused": Scene(
        answers=(
            wire.failure(400, "invalid_request_error", "output_config.format: too complex"),
            wire.exchange(wire.text('{"a": 1}')),
        ),
        flags=("-p", "go", "--json-schema", SCHEMA),
    ),
    "refusal": Scene(
        answers=(wire.exchange(wire.text("I "), stop_reason="refusal", detail="It is not allowed."),),
    ),
    "cut": Scene(
        answers=(
            wire.exchange(wire.text("one "), stop_reason="max_tokens"),
            wire.exchange(wire.text("two")),
        ),
    ),
    "provider error": Scene(
        answers=(wire.failure(400, "invalid_request_error", "no such thing"),), outputs=("json", "text")
    ),
    "other model": Scene(answers=(wire.exchange(wire.text("x"), model="other-model"),)),
    "prompts": Scene(
        answers=(wire.exchange(wire.text("one"), read("t1")), DONE, wire.exchange(wire.text("two"))),
        flags=(*FRAMES, "--replay-user-messages", "--include-dispatch-events"),
        stdin=(
            b'{"type":"user","content":"first \\u00fc"}\n'
            b'{"type":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}\n'
            b'{"type":"user","content":"third","more":1}\n'
        ),
        outputs=("text",),
    ),
}
CASES = [(name, output) for name, scene in SCENES.items() for output in scene.outputs]


@pytest.fixture
def scene(cli: Cli) -> Cli:
    """The command with two files in its workspace."""
    (cli.work / "note.txt").write_text("hello\n\tü “x”\n", encoding="utf-8")
    (cli.work / "pixel.png").write_bytes(PIXEL)
    return cli


@pytest.mark.parametrize(("name", "output"), CASES)
def test_a_run_writes_the_frozen_frames(scene, name, output):
    setup = SCENES[name]
    scene.script(*setup.answers)
    args = (*setup.flags, *OUTPUTS[output], "--no-save")
    done = scene.run(*args, stdin=setup.stdin)
    check(f"frames/{name.replace(' ', '-')}.{output}", Names(scene)(transcript(args, done)))
    assert len(scene.server.requests) == len(setup.answers) or name == "budget"


def test_a_cancelled_run_writes_the_frozen_frames(scene):
    scene.script(wire.broken(wire.thinking("hm"), wire.text("Hel", "lo"), after=8, end=Pause(HANG_S)))
    args = ("-p", "go", *OUTPUTS["partial"], "--no-save")
    process = scene.begin(*args)
    assert process.stdout is not None
    begun = b""
    while b'"delta":"Hel"' not in begun:
        begun += process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=HANG_S)
    done = Finished(code=process.returncode, out=(begun + out).decode(), err=err.decode())
    check("frames/cancelled.partial", Names(scene)(transcript(args, done)))


def test_a_compacted_run_writes_the_frozen_frames_bodies_and_session(scene):
    folder = scene.home / "kept"
    folder.mkdir()
    roles = ("user", "assistant") * 7
    messages = [
        {"id": f"m{number}", "role": role, "content": f"{number}. {FILLER}"}
        for number, role in enumerate(roles)
    ]
    (folder / "s.json").write_text(json.dumps({"messages": messages}))
    scene.script(wire.exchange(wire.text("What was: much.")), DONE)
    args = ("-p", "go", "-r", "s", "--sessions-dir", "../home/kept", "--system", "Be brief.", "--no-tools")
    args += ("--settings", '{"auto_compact_threshold": 0.02}', *OUTPUTS["stream"])
    done = scene.run(*args)
    names = Names(scene)
    bodies = "".join(asked(request) for request in scene.server.requests)
    check("frames/compacted.stream", names(transcript(args, done) + bodies + part("files", files(folder))))
