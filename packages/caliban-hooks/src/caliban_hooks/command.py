"""Hooks that are programs: the event on standard input, the answer by exit code and standard output.

With `args` a program is run as it is named. Without, the command is a line for a shell; a line that is one
word, a path with variables for its beginning, needs none and is run as it is, whatever is in the variables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_common.text import one_line
from caliban_hooks.answer import MAX_OUTPUT_BYTES, HookAnswer, ProgramEnd, program_answer
from caliban_hooks.errors import HookFailed
from caliban_hooks.spec import HookSpec
from caliban_process import Command, NotStarted, Runner
from caliban_process.output import OutputLimit

PROJECT_VARIABLES: Final = ("CALIBAN_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
DEPTH_VARIABLE: Final = "CALIBAN_HOOK_DEPTH"
"""How deep hooks are nested: a hook that starts a session whose hooks start one would never end."""

_STARTS: Final = ("/bin/sh", "-c", 'exec "$0"')
"""Starts the program that follows; a script without a `#!` line runs in sh, as from a shell."""

_ONE_WORD: Final = lazy_pattern(r'"?(?:[\w./@%+:,=-]|\$\{\w+\}|\$\w+(?!\w))+"?(?:[\w./@%+:,=-])*', re.ASCII)
_VARIABLE: Final = lazy_pattern(r"\$\{(\w+)\}|\$(\w+)", re.ASCII)


class Programs(Struct, frozen=True, kw_only=True):
    """Runs hooks that are programs, in the directory `cwd`, each with exactly `env` and what is its own."""

    runner: Runner
    env: Mapping[str, str]
    cwd: str

    async def ask(self, spec: HookSpec, event: bytes) -> HookAnswer:
        """The answer of `spec`, which is told `event`. Raises `HookFailed`."""
        env = {**self.env, **spec.env, DEPTH_VARIABLE: self.env.get(DEPTH_VARIABLE, "1")}
        command = Command(
            argv=argv_of(spec, env),
            cwd=self.cwd,
            env=env,
            stdin=event,
            timeout_s=spec.timeout_s,
            output=OutputLimit(head_bytes=MAX_OUTPUT_BYTES, tail_bytes=0),
        )
        try:
            done = await self.runner.run(command)
        except NotStarted as error:
            raise HookFailed(one_line(error.message)) from error
        if done.exit_code is None:
            raise HookFailed(f"it was not done within {spec.timeout_s:g} s")
        end = ProgramEnd(
            exit_code=done.exit_code,
            stdout=None if done.stdout.omitted_bytes else done.stdout.kept,
            stderr=done.stderr.text(),
        )
        return program_answer(spec.event, end, strict=spec.on_failure == "block")


def argv_of(spec: HookSpec, env: Mapping[str, str]) -> tuple[str, ...]:
    """The argument list of a hook; environment variables are expanded where no shell would."""
    line = spec.command.strip()
    if spec.args is not None:
        return tuple(_expanded(word, env) for word in (spec.command, *spec.args))
    if not spec.shell and is_one_word(line):
        path = _expanded(line.replace('"', ""), env)
        return (*_STARTS, path) if os.name == "posix" else (path,)
    return ("bash" if spec.shell == "bash" else "/bin/sh", "-c", spec.command)


def is_one_word(line: str) -> bool:
    """Whether a line is a program without arguments, whatever its variables hold."""
    has_path = "/" in line
    return has_path and line.count('"') in (0, 2) and _ONE_WORD.fullmatch(line) is not None


def _expanded(text: str, env: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda match: env.get(match[1] or match[2], ""), text)
