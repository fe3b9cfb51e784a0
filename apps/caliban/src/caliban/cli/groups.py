"""The flags of a run as data: one group a heading of `--help`, in the order of the guide's CLI reference."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from caliban.cli.flag import EITHER, ONCE, Flag, Group, flag, positive, switch, temperature, whole, words
from caliban.cli.formats import INPUT_FORMATS, OUTPUT_FORMATS, names_of

MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")

PROVIDERS: Final = (
    "anthropic",
    "azure",
    "bedrock",
    "foundry",
    "google",
    "local",
    "ollama",
    "openai",
    "vertex",
)
"""The providers of the distribution and its extras."""

GROUPS: Final = (
    Group(
        "prompt",
        "prompt",
        (
            flag("prompt", nargs="?", metavar="PROMPT", help="what to ask; - reads standard input"),
            flag("--prompt", dest="prompt_flag", action=ONCE, metavar="TEXT", help="the same as PROMPT"),
            flag(
                "--image",
                dest="images",
                type=words,
                action="append",
                metavar="PATH",
                help="attach a PNG, JPEG, GIF or WebP image to the prompt",
            ),
            switch(
                "--expand-files",
                help="attach every @file of the prompt that no rule denies (default: only those inside the "
                "workspace that may be read without a question, and that look like no secret)",
            ),
            flag(
                "--max-attach-bytes",
                variable="CALIBAN_MAX_ATTACH_BYTES",
                type=positive,
                metavar="N",
                help="limit of one attached file (default: 262144 for text, 50000000 for an image or a PDF, "
                "which are sent as the model takes them)",
            ),
            flag(
                "--attach-budget-bytes",
                variable="CALIBAN_ATTACH_BUDGET_BYTES",
                type=positive,
                metavar="N",
                help="limit of all @files of a prompt (default: 1048576 of text, and 20000000 of images and "
                "PDFs as they are sent)",
            ),
        ),
    ),
    Group(
        "output",
        "print mode",
        (
            flag(
                "-p",
                "--print",
                dest="print_prompt",
                action=ONCE,
                nargs="?",
                const=True,
                metavar="PROMPT",
                help="answer without a terminal interface and exit",
            ),
            flag("--output-format", choices=names_of(OUTPUT_FORMATS), help="default: text"),
            flag(
                "--input-format",
                choices=names_of(INPUT_FORMATS),
                default="text",
                help="what standard input holds (default: text)",
            ),
            switch("--no-auto-print", help="never choose print mode because of a pipe"),
            flag(
                "--json-schema",
                type=words,
                metavar="FILE_OR_JSON",
                help="the answer must fit this JSON Schema",
            ),
            switch("--include-partial-messages", help="stream-json: text and thinking as they come"),
            switch("--include-hook-events", help="stream-json: a frame per hook event"),
            switch("--include-dispatch-events", help="stream-json: t_ms in tool results"),
            switch("--replay-user-messages", help="stream-json: echo each prompt"),
            switch("--quiet", help="write nothing but warnings and errors to standard error"),
        ),
    ),
    Group(
        "session",
        "session",
        (
            switch("-c", "--continue", dest="continue_session", help="go on with the session used last here"),
            switch("--all", dest="everywhere", help="with -c: the session used last in any directory"),
            flag("-r", "--resume", type=words, metavar="NAME", help="resume a session"),
            flag("--session", type=words, metavar="NAME", help="resume a session, or begin it"),
            switch(
                "--fork-session",
                help="with -r or -c: go on in a new session, named by --session; the old one stays as it is",
            ),
            switch("--no-save", help="write nothing to the session"),
            switch(
                "--mirror",
                variable="CALIBAN_MIRROR",
                help="write a transcript, too, where the session helpers of the Claude Agent SDK look",
            ),
            flag(
                "--sessions-dir",
                variable="CALIBAN_SESSIONS_DIR",
                type=words,
                metavar="DIR",
                help="where sessions are kept",
            ),
            flag(
                "--record",
                type=words,
                metavar="FILE",
                help="record the whole run, without secrets, for caliban replay FILE",
            ),
        ),
    ),
    Group(
        "model",
        "model",
        (
            flag(
                "--provider",
                variable="CALIBAN_PROVIDER",
                variable_first=True,
                type=words,
                metavar="NAME",
                help=f"{', '.join(PROVIDERS)}, one of settings, or an installed one (default: anthropic)",
            ),
            flag("--base-url", type=words, metavar="URL", help="where the provider's API is, for this run"),
            flag("--model", type=words, metavar="NAME", help="default: the provider's"),
            flag("--fallback-model", type=words, metavar="NAME", help="asked when the first model fails"),
            flag("--config", type=words, metavar="PATH", help="the model router's caliban.toml"),
            flag("--max-tokens", type=positive, metavar="N", help="limit of one reply (default: 8192)"),
            flag("--max-turns", type=whole, metavar="N", help="limit of the loop (default: 50)"),
            flag("--max-budget-usd", metavar="USD", help="end the run (exit 137) once it has cost more"),
            flag("--temperature", type=temperature, metavar="F", help="0.0 to 2.0, where the model takes it"),
            switch(
                "--no-prompt-cache", variable="CALIBAN_NO_PROMPT_CACHE", help="send no prompt-cache markers"
            ),
        ),
    ),
    Group(
        "workspace",
        "workspace and tools",
        (
            flag(
                "--workspace",
                type=words,
                metavar="DIR",
                help="root for file and shell tools (default: here)",
            ),
            switch("--no-tools", help="chat only"),
            flag(
                "--restrict-paths",
                action=EITHER,
                default=True,
                help="keep tools inside the workspace (default: yes)",
            ),
            flag(
                "--sandbox",
                action=EITHER,
                default=None,
                help="run commands in a sandbox of the operating system, or do not start (default: as the "
                "settings say)",
            ),
            switch(
                "--no-parallel-tools",
                variable="CALIBAN_NO_PARALLEL_TOOLS",
                help="run tools one after the other",
            ),
            flag(
                "--parallel-tool-limit",
                variable="CALIBAN_PARALLEL_TOOL_LIMIT",
                type=positive,
                metavar="N",
                help="tools at once (default: 16)",
            ),
            switch(
                "--no-checkpoints",
                variable="CALIBAN_CHECKPOINT_DISABLED",
                help="keep nothing of files before they change, for caliban rewind",
            ),
        ),
    ),
    Group(
        "system",
        "system prompt",
        (
            flag("--system", metavar="TEXT", help="in place of the default one"),
            flag("--system-file", type=words, metavar="PATH", help="the same, from a file"),
            switch("--no-system", help="none at all"),
        ),
    ),
    Group(
        "permissions",
        "permissions",
        (
            flag(
                "--allow",
                type=words,
                action="append",
                metavar="PATTERN",
                help="allow matching calls, e.g. 'Bash:git *'",
            ),
            flag("--deny", type=words, action="append", metavar="PATTERN", help="deny matching calls"),
            flag("--ask", type=words, action="append", metavar="PATTERN", help="ask about matching calls"),
            flag(
                "--permission-mode",
                variable="CALIBAN_DEFAULT_PERMISSION_MODE",
                among=MODES,
                type=words,
                metavar="MODE",
                help=", ".join(MODES),
            ),
            switch(
                "--auto-allow", variable="CALIBAN_AUTO_ALLOW", help="dangerous: allow what would be asked"
            ),
            switch("--no-permissions", variable="CALIBAN_NO_PERMISSIONS", help="dangerous: no rules at all"),
            switch(
                "--allow-dangerously-skip-permissions", help="dangerous: makes bypassPermissions possible"
            ),
            switch(
                "--disable-auto-mode",
                variable="CALIBAN_DISABLE_AUTO_MODE",
                help="auto mode asks instead of classifying",
            ),
            flag(
                "--permission-prompt-tool",
                type=words,
                metavar="NAME",
                help="who is asked: stdio, the other end of stream-json, or mcp__SERVER__TOOL",
            ),
            switch("--defer-approvals", help="leave calls that would be asked about in the session"),
            flag(
                "--approve",
                type=words,
                action="append",
                metavar="CALL",
                help="with -r: run the call that waits there, named as its run has printed it",
            ),
            flag("--reject", type=words, action="append", metavar="CALL", help="with -r: deny it"),
        ),
    ),
    Group(
        "extensions",
        "extensions",
        (
            flag(
                "--plugin-dir",
                type=words,
                action="append",
                metavar="DIR",
                help="take the plugin in DIR for this run, unseen; may be given several times",
            ),
            *(
                switch(
                    f"--no-{name}",
                    variable=f"CALIBAN_NO_{name.upper().replace('-', '_')}",
                    help=f"without {what}",
                )
                for name, what in (
                    ("hooks", "hooks"),
                    ("skills", "skills"),
                    ("commands", "command files: /NAME in a prompt stays text"),
                    ("mcp", "MCP servers"),
                    ("plugins", "plugins"),
                    ("sub-agent", "sub-agents"),
                )
            ),
        ),
    ),
    Group(
        "settings",
        "settings and trust",
        (
            flag("--settings", type=words, metavar="FILE_OR_JSON", help="settings above those of every file"),
            flag("--setting-sources", metavar="CSV", help="of managed,user,project,local"),
            flag(
                "--mcp-config",
                type=words,
                action="append",
                metavar="FILE_OR_JSON",
                help='further MCP servers: {"mcpServers": {NAME: {...}}}',
            ),
            switch("--strict-mcp-config", help="no MCP servers but those of --mcp-config"),
            switch("--bare", help="built-in tools and the given flags only; no settings of user or project"),
            switch("--trust-project", help="let what this project supplies count, for this run and unseen"),
        ),
    ),
    Group(
        "",
        "about",
        (
            switch("-h", "--help", help="-h in short, --help in full"),
            switch("-V", "--version", help="version and commit"),
        ),
    ),
)
"""Every flag of a run, by the headings of `--help`."""

LATER_FLAGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "--mcp-oauth-port": "logging in during a run is not part of this version; caliban mcp login takes it",
        "--bg": "background agents are not part of this version",
        "--debug": "the debug log is not part of this version",
    }
)
"""Flags of the guide that this version refuses, and why."""


def shared(name: str, *, groups: tuple[Group, ...] = GROUPS, **how: object) -> Flag:
    """The flag of a run called `name`, for a command that takes it too; `how` is what differs."""
    row = next(row for group in groups for row in group.flags if name in row.names)
    return row.told(how)
