"""Standard output and input as descriptors of every kind."""

from __future__ import annotations

import json
import os
import signal

import anyio
import pytest
from hang_guard import HANG_S

from caliban_agent_core import Agent
from caliban_common.message import user
from caliban_drive import Session
from caliban_headless import Driver, Init, OnePrompt, Output
from caliban_headless.errors import MissingInput, OutputClosed, OutputFailed
from caliban_headless.signals import look_out, watch_signals
from caliban_headless.stdin import Stdin
from caliban_headless.stream import StreamEncoder, StreamOptions
from caliban_provider.testing.scripted import ScriptedProvider, reply

INIT = Init(
    session_id="s", model="p/m", tools=(), setting_sources=(), bare=False, cwd="/", permission_mode="default"
)


@pytest.mark.anyio
async def test_a_reader_that_does_not_read_is_waited_for_no_longer_than_allowed():
    reader, writer = os.pipe()
    output = Output(writer)
    output.write(b"x" * 1_000_000)
    output.hurry(0.05)
    with anyio.fail_after(HANG_S), pytest.raises(OutputClosed):
        await output.flush()
    os.close(reader)
    os.close(writer)


async def flush_what_fits(output: Output) -> None:
    """Cancel the flush where it waits for the reader."""
    async with anyio.create_task_group() as group:
        group.start_soon(output.flush)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_what_a_cancelled_flush_did_not_write_comes_next():
    reader, writer = os.pipe()
    output = Output(writer)
    data = bytes(range(256)) * 1000
    output.write(data)
    await flush_what_fits(output)
    output.write(b"END")
    got = b""
    while not got.endswith(b"END"):
        got += os.read(reader, 1 << 20)
        await flush_what_fits(output)
    assert got == data + b"END"
    os.close(reader)
    os.close(writer)


@pytest.mark.anyio
async def test_a_descriptor_that_cannot_be_written_is_a_failure_in_words(tmp_path):
    (tmp_path / "file").touch()
    descriptor = os.open(tmp_path / "file", os.O_RDONLY)
    output = Output(descriptor)
    output.write(b"x")
    with pytest.raises(OutputFailed, match="cannot be written") as caught:
        await output.flush()
    assert not isinstance(caught.value, OutputClosed)
    os.close(descriptor)


@pytest.mark.anyio
async def test_a_cancelled_driver_says_its_result_and_closes_its_session():
    reader, writer = os.pipe()
    started, held = anyio.Event(), anyio.Event()
    provider = ScriptedProvider([reply("words", wait=held, wait_before=1, reached=started)])
    driver = Driver(
        session=Session(Agent(provider, "m"), id="s"),
        encoder=StreamEncoder(StreamOptions()),
        output=Output(writer),
        init=INIT,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(driver.run, OnePrompt(user("hi")))
        await started.wait()
        group.cancel_scope.cancel()
    frames = [json.loads(line) for line in os.read(reader, 65536).splitlines()]
    assert [(f["type"], f["subtype"]) for f in frames] == [("system", "init"), ("result", "cancelled")]
    os.close(reader)
    os.close(writer)


@pytest.mark.anyio
async def test_input_that_cannot_be_read_is_an_error_and_a_closed_one_is_empty(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(MissingInput, match="cannot be read"):
        await Stdin(descriptor).read()
    os.close(descriptor)
    assert await Stdin(descriptor).read() is None


@pytest.mark.anyio
async def test_a_descriptor_that_does_not_block_is_waited_for():
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    got: list[bytes | None] = []

    async def take() -> None:
        got.append(await Stdin(reader).read())

    async with anyio.create_task_group() as group:
        group.start_soon(take)
        await anyio.wait_all_tasks_blocked()
        os.write(writer, b"late")
    assert got == [b"late"]
    os.close(reader)
    os.close(writer)


@pytest.mark.anyio
async def test_signals_that_came_first_count():
    calls: list[str] = []
    stopped = anyio.Event()

    def first() -> None:
        calls.append("first")
        stopped.set()

    async with anyio.create_task_group() as group:
        group.start_soon(watch_signals, first, lambda: calls.append("second"), [signal.SIGTERM])
        await stopped.wait()
        group.cancel_scope.cancel()
    assert calls == ["first"]


@pytest.mark.anyio
async def test_where_no_loop_waits_for_signals_they_are_looked_for():
    arrivals: list[int] = []
    stopped = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(look_out, stopped.set, arrivals)
        arrivals.append(signal.SIGINT)
        with anyio.fail_after(HANG_S):
            await stopped.wait()
        group.cancel_scope.cancel()
