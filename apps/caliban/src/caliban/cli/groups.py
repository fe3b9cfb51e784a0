"""The flags as data: one group a heading of `--help`, in the order of the guide's CLI reference.

Named tuples, not dataclasses: `--help` should not wait for the machinery behind those.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

MAX_DIGITS = 18
MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")


class Flag(NamedTuple):
    """One flag: its names, and what argparse is told about it.

    `variable` says the same in the environment: above the flag where `variable_first`, else below it; it must
    be one of `among` where these are given.
    """

    names: tuple[str, ...]
    how: Mapping[str, Any]
    variable: str = ""
    variable_first: bool = False
    among: tuple[str, ...] = ()

    @property
    def field(self) -> str:
        """The name of its value."""
        written = self.how.get("dest") or next(
            (name for name in self.names if name.startswith("--")), self.names[0]
        )
        return str(written).lstrip("-").replace("-", "_")

    @property
    def is_switch(self) -> bool:
        """Whether it stands alone, without a value."""
        return self.how.get("action") == "store_true"


class Group(NamedTuple):
    """A heading and its flags. `name` is the field of `Options` that holds what they say, if any does."""

    name: str
    title: str
    flags: tuple[Flag, ...]


def _flag(
    *names: str, variable: str = "", variable_first: bool = False, among: tuple[str, ...] = (), **how: Any
) -> Flag:
    return Flag(names, MappingProxyType(how), variable, variable_first, among)


def _switch(*names: str, **how: Any) -> Flag:
    return _flag(*names, action="store_true", **how)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        shown = text if len(text) <= 2 * MAX_DIGITS else f"{text[: 2 * MAX_DIGITS]}…"
        raise argparse.ArgumentTypeError(
            f"must be a whole number of at most {MAX_DIGITS} digits, not {shown!r}"
        )
    return int(text)


def _words(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def _positive(text: str) -> int:
    if (number := _whole(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _temperature(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 2.0:
        raise argparse.ArgumentTypeError(f"must be between 0.0 and 2.0, not {text!r}")
    return number


GROUPS: Final = (
    Group(
        "prompt",
        "prompt",
        (
            _flag("prompt", nargs="?", metavar="PROMPT", help="what to ask; - reads standard input"),
            _flag("--prompt", dest="prompt_flag", metavar="TEXT", help="the same as PROMPT"),
            _flag(
                "--max-attach-bytes",
                variable="CALIBAN_MAX_ATTACH_BYTES",
                type=_positive,
                metavar="N",
                help="limit of one @file (default: 262144)",
            ),
            _flag(
                "--attach-budget-bytes",
                variable="CALIBAN_ATTACH_BUDGET_BYTES",
                type=_positive,
                metavar="N",
                help="limit of all @files of a prompt (default: 1048576)",
            ),
        ),
    ),
    Group(
        "output",
        "print mode",
        (
            _flag(
                "-p",
                "--print",
                dest="print_prompt",
                nargs="?",
                const=True,
                metavar="PROMPT",
                help="answer without a terminal interface and exit",
            ),
            _flag("--output-format", choices=("text", "json", "stream-json"), help="default: text"),
            _flag(
                "--input-format",
                choices=("text", "stream-json"),
                default="text",
                help="what standard input holds (default: text)",
            ),
            _switch("--no-auto-print", help="never choose print mode because of a pipe"),
            _flag(
                "--json-schema",
                type=_words,
                metavar="FILE_OR_JSON",
                help="the answer must fit this JSON Schema",
            ),
            _switch("--include-partial-messages", help="stream-json: text and thinking as they come"),
            _switch("--include-hook-events", help="stream-json: a frame per hook event"),
            _switch("--include-dispatch-events", help="stream-json: t_ms in tool results"),
            _switch("--replay-user-messages", help="stream-json: echo each prompt"),
            _switch("--quiet", help="do not say on standard error which tools run"),
        ),
    ),
    Group(
        "session",
        "session",
        (
            _switch("-c", "--continue", dest="continue_session", help="resume the session used last"),
            _flag("-r", "--resume", type=_words, metavar="NAME", help="resume a session"),
            _flag("--session", type=_words, metavar="NAME", help="resume a session, or begin it"),
            _switch(
                "--fork-session",
                help="with -r or -c: go on in a new session, named by --session; the old one stays as it is",
            ),
            _switch("--no-save", help="write nothing to the session"),
            _flag("--sessions-dir", type=_words, metavar="DIR", help="where sessions are kept"),
        ),
    ),
    Group(
        "model",
        "model",
        (
            _flag(
                "--provider",
                variable="CALIBAN_PROVIDER",
                variable_first=True,
                type=_words,
                metavar="NAME",
                help="anthropic, openai, google, ollama, azure, local, one of settings, or an installed one "
                "(default: anthropic)",
            ),
            _flag("--base-url", type=_words, metavar="URL", help="where the provider's API is, for this run"),
            _flag("--model", type=_words, metavar="NAME", help="default: the provider's"),
            _flag("--fallback-model", type=_words, metavar="NAME", help="asked when the first model fails"),
            _flag("--config", type=_words, metavar="PATH", help="the model router's caliban.toml"),
            _flag("--max-tokens", type=_positive, metavar="N", help="limit of one reply (default: 8192)"),
            _flag("--max-turns", type=_whole, metavar="N", help="limit of the loop (default: 50)"),
            _flag("--max-budget-usd", metavar="USD", help="end the run (exit 137) once it has cost more"),
            _flag(
                "--temperature", type=_temperature, metavar="F", help="0.0 to 2.0, where the model takes it"
            ),
            _switch(
                "--no-prompt-cache", variable="CALIBAN_NO_PROMPT_CACHE", help="send no prompt-cache markers"
            ),
        ),
    ),
    Group(
        "workspace",
        "workspace and tools",
        (
            _flag(
                "--workspace",
                type=_words,
                metavar="DIR",
                help="root for file and shell tools (default: here)",
            ),
            _switch("--no-tools", help="chat only"),
            _flag(
                "--restrict-paths",
                action=argparse.BooleanOptionalAction,
                default=True,
                help="keep tools inside the workspace (default: yes)",
            ),
            _switch(
                "--no-parallel-tools",
                variable="CALIBAN_NO_PARALLEL_TOOLS",
                help="run tools one after the other",
            ),
            _flag(
                "--parallel-tool-limit",
                variable="CALIBAN_PARALLEL_TOOL_LIMIT",
                type=_positive,
                metavar="N",
                help="tools at once (default: 16)",
            ),
        ),
    ),
    Group(
        "system",
        "system prompt",
        (
            _flag("--system", metavar="TEXT", help="in place of the default one"),
            _flag("--system-file", type=_words, metavar="PATH", help="the same, from a file"),
            _switch("--no-system", help="none at all"),
        ),
    ),
    Group(
        "permissions",
        "permissions",
        (
            _flag(
                "--allow",
                type=_words,
                action="append",
                metavar="PATTERN",
                help="allow matching calls, e.g. 'Bash:git *'",
            ),
            _flag("--deny", type=_words, action="append", metavar="PATTERN", help="deny matching calls"),
            _flag("--ask", type=_words, action="append", metavar="PATTERN", help="ask about matching calls"),
            _flag(
                "--permission-mode",
                variable="CALIBAN_DEFAULT_PERMISSION_MODE",
                among=MODES,
                type=_words,
                metavar="MODE",
                help=", ".join(MODES),
            ),
            _switch(
                "--auto-allow", variable="CALIBAN_AUTO_ALLOW", help="dangerous: allow what would be asked"
            ),
            _switch("--no-permissions", variable="CALIBAN_NO_PERMISSIONS", help="dangerous: no rules at all"),
            _switch(
                "--allow-dangerously-skip-permissions", help="dangerous: makes bypassPermissions possible"
            ),
            _switch(
                "--disable-auto-mode",
                variable="CALIBAN_DISABLE_AUTO_MODE",
                help="auto mode asks instead of classifying",
            ),
        ),
    ),
    Group(
        "",
        "extensions",
        tuple(
            _switch(f"--no-{name}", dest="without", help=f"without {what}")
            for name, what in (
                ("hooks", "hooks"),
                ("skills", "skills"),
                ("mcp", "MCP servers"),
                ("plugins", "plugins"),
                ("sub-agent", "sub-agents"),
            )
        ),
    ),
    Group(
        "settings",
        "settings and trust",
        (
            _flag(
                "--settings", type=_words, metavar="FILE_OR_JSON", help="settings above those of every file"
            ),
            _flag("--setting-sources", metavar="CSV", help="of managed,user,project,local"),
            _switch("--bare", help="built-in tools and the given flags only; no settings of user or project"),
            _switch("--trust-project", help="let the project's own settings grant permissions"),
        ),
    ),
    Group(
        "",
        "about",
        (
            _switch("-h", "--help", help="this text"),
            _switch("-V", "--version", help="version and commit"),
        ),
    ),
)
"""Every flag that works. `--no-hooks` and its like ask for what is the case anyway."""

LATER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "--permission-prompt-tool": "MCP servers are not part of this version",
        "--mcp-oauth-port": "MCP servers are not part of this version",
        "--mcp-config": "MCP servers are not part of this version",
        "--bg": "background agents are not part of this version",
        "--debug": "the debug log is not part of this version",
        "--image": "images in prompts are not part of this version",
    }
)
"""Flags of the guide that are refused until what they need is there, with the reason."""

LATER_COMMANDS: Final = (
    *("agents", "attach", "config", "daemon", "doctor", "kill", "logs", "mcp", "plugin", "respawn", "rm"),
    *("settings", "stop"),
)
"""Commands of the guide that this version does not have: never sent to a model as a prompt by mistake."""
