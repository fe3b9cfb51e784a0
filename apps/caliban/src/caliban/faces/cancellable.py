"""Runs the work of a command so that a signal ends it at once."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from caliban.early_signals import SECOND_INTERRUPT, EarlySignals
from caliban.errors import CommandCancelled
from caliban.faces.cancel_target import alone
from caliban.faces.hush import hush_libraries
from caliban_headless.signals import watch_signals

T = TypeVar("T")


def run_cancellable(work: Callable[[], Awaitable[T]], signals: EarlySignals) -> T:
    """What `work` gives. The first signal cancels it, a second interrupt ends the process.

    Raises `CommandCancelled`, and what `work` raises.
    """
    hush_libraries()
    try:
        return anyio.run(_watched, work, signals)
    except BaseExceptionGroup as group:
        raise alone(group) from None
    finally:
        signals.listen_again()


async def _watched(work: Callable[[], Awaitable[T]], signals: EarlySignals) -> T:
    results: list[T] = []
    async with anyio.create_task_group() as group:
        group.start_soon(watch_signals, group.cancel_scope.cancel, _leave, signals.numbers)
        results.append(await work())
        group.cancel_scope.cancel()
    if not results:
        raise CommandCancelled("cancelled")
    return results[0]


def _leave() -> None:
    os._exit(SECOND_INTERRUPT)
