"""What servers answer in ways that no model takes: images that are none, texts that are no texts."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from base64 import b64encode
from typing import Any

import pytest
from mcp_kit import SCRIPT

from caliban_common.testing import sample_image
from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
STREAM = ("-p", "go", "--output-format", "stream-json")
PNG, JPEG = sample_image("image/png"), sample_image("image/jpeg")


def image(data: str, kind: str | None = "image/png") -> dict[str, Any]:
    mime = {} if kind is None else {"mimeType": kind}
    return {"content": [{"type": "image", "data": data, **mime}]}


def resource(**said: str) -> dict[str, Any]:
    return {"content": [{"type": "resource", "resource": {"uri": "x://a", **said}}]}


def answers(cli, tmp_path, tools: dict[str, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """What the model reads of each tool's answer."""
    (tmp_path / "what.json").write_text(json.dumps({"tools": tools}))
    entry = {"command": sys.executable, "args": ["-S", "-E", str(SCRIPT), f"@{tmp_path / 'what.json'}"]}
    calls = [wire.tool_use(f"mcp__desk__{name}", {}, id=name) for name in tools]
    cli.script(wire.exchange(*calls), DONE)
    config = json.dumps({"mcpServers": {"desk": entry}})
    done = cli.run(*STREAM, "--mcp-config", config, "--allow", "mcp__desk__*")
    assert (done.code, done.frames[-1]["result"]) == (0, "Done."), done.err
    blocks = cli.bodies()[1]["messages"][-1]["content"]
    return {block["tool_use_id"]: block["content"] for block in blocks}


def own_png(number: int) -> bytes:
    """The image with a comment: one that came before would be sent as words."""
    body = b"tEXt" + f"n\0{number}".encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return PNG[:-12] + chunk + PNG[-12:]


WRITTEN = {
    "jpg": lambda data: image(b64encode(JPEG).decode(), "image/jpg"),
    "upper": lambda data: image(data, "IMAGE/PNG"),
    "none": lambda data: image(data, None),
    "other": lambda data: image(data, "image/webp"),
    "address": lambda data: image(f"data:image/png;base64,{data}"),
    "lines": lambda data: image("\r\n".join(data[at : at + 76] for at in range(0, len(data), 76))),
    "bare": lambda data: image(data.rstrip("=")),
    "safe": lambda data: image(data.translate(str.maketrans("+/", "-_"))),
    "file": lambda data: resource(blob=data, mimeType="application/octet-stream"),
}


def test_an_image_is_what_its_bytes_say_however_a_server_writes_it(cli, tmp_path):
    sent = {name: b64encode(own_png(number)).decode() for number, name in enumerate(WRITTEN)}
    contents = answers(cli, tmp_path, {name: way(sent[name]) for name, way in WRITTEN.items()})
    sent["jpg"] = b64encode(JPEG).decode()
    for name, parts in contents.items():
        kind = "image/jpeg" if name == "jpg" else "image/png"
        assert parts[-1].get("source") == {"type": "base64", "media_type": kind, "data": sent[name]}, name


def test_what_is_no_image_never_reaches_a_model_as_one(cli, tmp_path):
    """One such block, and a provider refuses this request and each one after it."""
    tools = {
        "words": image(b64encode(b"Error: no display").decode()),
        "page": image(b64encode(b"<html>").decode()),
        "svg": image(b64encode(b"<svg/>").decode(), "image/svg+xml"),
        "cut": image(b64encode(PNG[:40]).decode()),
        "empty": image(""),
        "file": resource(blob=b64encode(b"junk").decode(), mimeType="image/png"),
        "large": image(b64encode(PNG[:-12] + b"\0" * 9_000_000).decode()),
    }
    contents = answers(cli, tmp_path, tools)
    for name, parts in contents.items():
        assert [part["type"] for part in parts] == ["text"], name
        assert parts[0]["text"].startswith("["), name
    assert "image/svg+xml" in contents["svg"][0]["text"]


def test_a_document_is_one_and_a_file_of_text_is_read(cli, tmp_path):
    tools = {
        "json": resource(blob=b64encode(b'{"a": 1}').decode(), mimeType="application/json"),
        "bytes": resource(blob=b64encode(b"\xff\xfe\x00").decode(), mimeType="text/plain"),
        "pdf": resource(blob=b64encode(b"%PDF-1.4 no more").decode(), mimeType="application/pdf"),
    }
    contents = answers(cli, tmp_path, tools)
    assert contents["json"][0]["text"] == '[embedded resource: x://a]\n{"a": 1}'
    assert contents["bytes"][0]["text"] == "[embedded resource: x://a, 3 bytes, which is no text]"
    assert contents["pdf"][0]["text"].startswith("[embedded resource: x://a, 16 bytes, which is not shown: ")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("just a string", "just a string"),
        (["one", "two"], "one two"),
        ([{"type": "text", "text": 42}], "42"),
        ([{"type": "text", "text": {"a": "é"}}], '{"a": "é"}'),
        ({"type": "text", "text": "alone"}, "alone"),
        ([{"type": "json", "json": {"a": 1}}], '"json": {"a": 1}'),
    ],
)
def test_what_a_server_means_as_text_is_not_lost(cli, tmp_path, content, words):
    parts = answers(cli, tmp_path, {"say": {"content": content}})["say"]
    assert words in " ".join(part["text"] for part in parts)
