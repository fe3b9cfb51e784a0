"""A provider of somebody else that fails in every way: one result, exit 1, no traceback, the session kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SOURCE = """
import os
from contextlib import asynccontextmanager
from caliban_provider import *

MODE = os.environ["MODE"]


class Provider:
    name = family = "evil"

    def capabilities(self, model):
        return Capabilities(context_tokens=100_000, max_output_tokens=1000)

    @asynccontextmanager
    async def stream(self, request):
        if MODE == "enter":
            raise TypeError("boom")
        if MODE == "exit code":
            raise SystemExit(3)
        yield None if MODE == "nothing" else self.speak()
        if MODE == "leave":
            raise RuntimeError("boom")

    async def speak(self):
        yield MessageStart()
        yield BlockStart(0, "text")
        yield TextDelta(0, "some text")
        if MODE == "middle":
            raise TypeError("boom")
        if MODE == "garbage":
            yield 42
        if MODE == "no end":
            return
        yield BlockStop(0)
        yield MessageDelta(stop_reason="end_turn")
        yield MessageStop()

    async def aclose(self):
        if MODE == "close":
            raise RuntimeError("boom")


class Factory:
    name, default_model, needs_key, key_env, base_url_env = "evil", "evil-1", False, (), ()

    def create(self, options):
        if MODE == "create":
            raise RuntimeError("boom")
        return Provider()


FACTORY = Factory()
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    directory = tmp_path / "site"
    info = directory / "evil-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[caliban.providers]\nevil = evil:FACTORY\n")
    (directory / "evil.py").write_text(SOURCE)
    return directory


def run(cli, site: Path, mode: str, *flags: str):
    env = {"PYTHONPATH": str(site), "MODE": mode}
    return cli.run("-p", "hi", "--provider", "evil", "--session", "s", *flags, env=env)


@pytest.mark.long(keep=5)
@pytest.mark.parametrize(
    "mode", ["create", "enter", "exit code", "nothing", "leave", "middle", "garbage", "no end"]
)
@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_a_fault_of_a_provider_is_one_error_result_that_names_it(cli, site, mode, output):
    done = run(cli, site, mode, "--output-format", output)
    assert done.code == 1
    assert "Traceback" not in done.err
    assert "fault in caliban" not in done.out + done.err
    if output == "text":
        assert "evil" in done.err or mode == "no end"
    else:
        (result,) = [frame for frame in done.frames if frame["type"] == "result"]
        assert (result["subtype"], result["is_error"]) == ("error", True)
        assert result == done.frames[-1]
        assert "evil" in result["error"] or mode == "no end"
    directory = cli.home / ".local/share/caliban/sessions"
    if mode != "create":
        assert [path.name for path in directory.iterdir()] == ["s.json"]


def test_what_was_said_before_the_fault_is_in_the_result_and_in_the_session(cli, site):
    done = run(cli, site, "middle", "--output-format", "json")
    assert done.json["last_assistant_text"] == "some text"
    assert done.json["session_id"] == "s"
    state = json.loads((cli.home / ".local/share/caliban/sessions/s.json").read_text())
    assert state["messages"][-1]["content"][0]["text"] == "some text"


def test_a_fault_after_the_result_changes_nothing(cli, site):
    done = run(cli, site, "close", "--output-format", "stream-json")
    assert done.code == 0
    assert [frame["type"] for frame in done.frames].count("result") == 1
    assert done.frames[-1]["result"] == "some text"
    assert "could not be closed" in done.err


def test_the_place_of_a_fault_is_shown_on_demand(cli, site):
    env = {"PYTHONPATH": str(site), "MODE": "middle", "CALIBAN_DEBUG": "1"}
    done = cli.run("-p", "hi", "--provider", "evil", "--no-save", env=env)
    assert done.code == 1
    assert 'evil.py", line' in done.err
