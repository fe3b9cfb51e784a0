"""Images and documents of a session are files of their own: each once, and never lost without a word."""

from __future__ import annotations

import base64
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from caliban_common.message import (
    Base64Source,
    DocumentBlock,
    ImageBlock,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    assistant,
    user,
)
from caliban_sessions import SessionStore

PICTURE, PAPER = b"\x89PNG picture" * 500, b"%PDF- paper" * 500
IMAGE = ImageBlock.of(media_type="image/png", data=base64.b64encode(PICTURE).decode())
DOCUMENT = DocumentBlock(
    source=Base64Source(media_type="application/pdf", data=base64.b64encode(PAPER).decode()), title="p.pdf"
)
CALL = Message(role="assistant", content=(ToolUseBlock(id="t", name="Read", input={}),), id="call")
RESULT = ToolResultBlock(tool_use_id="t", content=(TextBlock(text="read"), IMAGE, DOCUMENT))
SHOWN = Message(role="user", content=(TextBlock(text="look"), IMAGE), id="shown")


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


def blobs(store: SessionStore, name: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (store.directory / name / "blobs").glob("*")}


def test_what_is_shown_again_and_again_is_stored_once_and_comes_back_whole(store: SessionStore) -> None:
    history = (SHOWN, CALL, Message(role="user", content=(RESULT,), id="result"))
    with store.open("demo") as session:
        for message in history:
            session.append(message)
        journal = (store.directory / "demo.journal").read_text()
        assert store.load("demo").messages == history
    text = (store.directory / "demo.json").read_text()
    assert IMAGE.data and IMAGE.data not in text + journal
    assert len(text) < 4000
    assert sorted(blobs(store, "demo").values()) == sorted([PICTURE, PAPER])
    (digest,) = {name for name, data in blobs(store, "demo").items() if data == PICTURE}
    assert digest == f"{sha256(PICTURE).hexdigest()}.bin"
    assert (store.directory / "demo" / "blobs" / digest).stat().st_mode & 0o777 == 0o600
    state = store.load("demo")
    assert (state.messages, state.warnings) == (history, ())
    assert json.loads(text)["messages"][0]["content"][1]["source"] == {
        "type": "blob_ref",
        "sha256": sha256(PICTURE).hexdigest(),
        "media_type": "image/png",
    }


def test_a_session_without_images_has_no_such_directory(store: SessionStore) -> None:
    with store.open("demo") as session:
        session.append(user("hi"))
    assert not (store.directory / "demo").exists()


def test_a_result_whose_writer_was_killed_keeps_its_image(store: SessionStore) -> None:
    session = store.open("demo")
    session.append(CALL)
    session.keep_result(RESULT)
    assert store.load("demo").messages[1].content == (RESULT,)
    session.close()


def test_a_file_with_images_inside_still_loads(store: SessionStore) -> None:
    store.directory.mkdir()
    old = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE.data}}
    messages = [{"id": "a", "role": "user", "content": [old]}]
    (store.directory / "old.json").write_text(json.dumps({"messages": messages}))
    with store.open("old") as session:
        assert session.state.messages[0].content == (IMAGE,)
        session.append(user("more"))
    assert store.load("old").messages[0].content == (IMAGE,)


def test_what_is_lost_or_not_what_its_name_says_is_told_and_ends_nothing(store: SessionStore) -> None:
    with store.open("demo") as session:
        session.append(SHOWN)
    path = next((store.directory / "demo" / "blobs").iterdir())
    path.write_bytes(b"something else")
    for _ in range(2):
        state = store.load("demo")
        assert re.search(r"\[the image [0-9a-f]{64}\.bin of this session is lost\]", state.messages[0].text)
        assert path.name in state.warnings[0]
        path.unlink(missing_ok=True)
    with store.open("demo") as session:
        session.append(assistant("and on"))
    path.write_bytes(PICTURE)
    assert store.load("demo").messages[0] == SHOWN


@pytest.mark.parametrize("name", ["../../../etc/passwd", "", 7, None, "A" * 64, "a" * 63])
def test_a_name_that_is_no_digest_reads_nothing(store: SessionStore, name: object) -> None:
    store.directory.mkdir()
    source = {"type": "blob_ref", "sha256": name, "media_type": "image/png"}
    messages = [{"id": "a", "role": "user", "content": [{"type": "image", "source": source}]}]
    (store.directory / "odd.json").write_text(json.dumps({"messages": messages}))
    state = store.load("odd")
    assert "is lost" in state.messages[0].text
    assert state.warnings


def test_a_fork_has_its_own_files(store: SessionStore) -> None:
    with store.open("demo") as session:
        session.append(SHOWN)
    with store.fork("demo", "other") as fork:
        fork.append(user("more"))
    for path in (store.directory / "demo" / "blobs").iterdir():
        path.unlink()
    assert store.load("other").messages[0] == SHOWN
    assert blobs(store, "other") == {f"{sha256(PICTURE).hexdigest()}.bin": PICTURE}


def test_what_a_summary_has_replaced_comes_back_with_its_image(store: SessionStore) -> None:
    with store.open("demo") as session:
        session.append(SHOWN)
        session.append(assistant("seen"))
        session.replace((user("summary"),))
        transcript = session.transcript()
    assert transcript is None or SHOWN in transcript
    assert IMAGE.data and IMAGE.data not in (store.directory / "demo.archive").read_text()
