"""Limits of a call, put on by a shell that then becomes the program: nothing that it starts can lift them.

A shell and not the parent: between a start and limits that come from outside a program could get ahead, and
code between `fork` and `exec` is not safe in a process with threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from caliban_sandbox.policy import LimitPolicy

SHELL: Final = "/bin/sh"
_BLOCK: Final = 512
_KIB: Final = 1024


def limited(argv: tuple[str, ...], limits: LimitPolicy, *, counts: bool) -> tuple[str, ...]:
    """`argv` under `limits`; `counts` says whether the kernel counts the processes of the sandbox alone.

    What is stricter already, as the limits of the host are, stays as it is.
    """
    lines = [f"{line} 2>/dev/null" for line in _lines(limits, counts=counts)]
    if not lines:
        return argv
    return (SHELL, "-c", "; ".join((*lines, 'exec "$@"')), SHELL, *argv)


def counts_by_namespace(release: str, *, nested: bool) -> bool:
    """Whether a kernel of this release counts the processes of a user namespace by themselves."""
    numbers = release.split("-", maxsplit=1)[0].split(".")[:2]
    if nested or len(numbers) < 2 or not all(number.isdecimal() for number in numbers):
        return False
    return tuple(map(int, numbers)) >= (5, 14)


def _lines(limits: LimitPolicy, *, counts: bool) -> Iterator[str]:
    if limits.memory_bytes is not None:
        yield f"ulimit -d {-(-limits.memory_bytes // _KIB)}"
    if limits.cpu_s is not None:
        yield f"ulimit -t {limits.cpu_s}"
    if limits.file_bytes is not None:
        yield f"ulimit -f {-(-limits.file_bytes // _BLOCK)}"
    if limits.processes is not None and counts:
        # dash and busybox call it -p, bash -u.
        yield f"ulimit -u {limits.processes} 2>/dev/null || ulimit -p {limits.processes}"
