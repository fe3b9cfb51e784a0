"""What other tools call our flags, commands and tools: errors answer a newcomer's word with ours."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_JSON: Final = "--output-format json"
_STREAM: Final = "--output-format stream-json"
_SYSTEM: Final = "--system TEXT, in place of the default prompt"
_SYSTEM_FILE: Final = "--system-file PATH, in place of the default prompt"
_BYPASS: Final = "--permission-mode bypassPermissions --allow-dangerously-skip-permissions"
_YES: Final = "--permission-mode acceptEdits for edits, --auto-allow for all that would be asked"
_FOLDER: Final = "--workspace DIR"
_TOOLS: Final = "--allow PATTERN and --deny PATTERN"
_MODE: Final = "--permission-mode MODE"
_PROMPT: Final = "-p PROMPT"
_EFFORT: Final = """--settings '{"effort": "high"}'"""
_ROOTS: Final = """--settings '{"additional_directories": ["DIR"]}'"""
_KEY: Final = "caliban login, or a variable such as ANTHROPIC_API_KEY"
_SCHEMA: Final = "--json-schema FILE_OR_JSON"
_DEBUG: Final = "the environment variable CALIBAN_DEBUG=1"
_URL: Final = "--base-url URL"
_SESSION: Final = "--session NAME"

FLAGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "--json": _JSON,
        "--output-json": _JSON,
        "--jsonl": _STREAM,
        "--stream-json": _STREAM,
        "--stream": f"{_STREAM} --include-partial-messages",
        "--verbose": f"{_STREAM}, which shows every step",
        "-v": "-V for the version",
        "--output": "--output-format FORMAT",
        "--format": "--output-format FORMAT",
        "-o": "--output-format FORMAT",
        "--append-system-prompt": _SYSTEM,
        "--append-system-prompt-file": _SYSTEM_FILE,
        "--system-prompt": _SYSTEM,
        "--system-prompt-file": _SYSTEM_FILE,
        "--instructions": _SYSTEM,
        "--dangerously-skip-permissions": _BYPASS,
        "--dangerously-bypass-approvals-and-sandbox": _BYPASS,
        "--skip-permissions": _BYPASS,
        "--yolo": _BYPASS,
        "--yes": _YES,
        "--yes-always": _YES,
        "-y": _YES,
        "--force": _YES,
        "--full-auto": _YES,
        "--auto-approve": _YES,
        "--allow-all": "--auto-allow",
        "--allow-all-tools": "--auto-allow",
        "--approval-mode": _MODE,
        "--approval-policy": _MODE,
        "--ask-for-approval": _MODE,
        "-a": _MODE,
        "--mode": _MODE,
        "--plan": "--permission-mode plan",
        "--read-only": "--permission-mode plan",
        "--readonly": "--permission-mode plan",
        "--accept-edits": "--permission-mode acceptEdits",
        "--cwd": _FOLDER,
        "--cd": _FOLDER,
        "-C": _FOLDER,
        "--dir": _FOLDER,
        "--directory": _FOLDER,
        "--project": _FOLDER,
        "--project-dir": _FOLDER,
        "--root": _FOLDER,
        "--working-dir": _FOLDER,
        "--add-dir": _ROOTS,
        "--additional-directories": _ROOTS,
        "--include-directories": _ROOTS,
        "--tools": _TOOLS,
        "--available-tools": _TOOLS,
        "--allowedTools": "--allow PATTERN",
        "--allowed-tools": "--allow PATTERN",
        "--allow-tool": "--allow PATTERN",
        "--disallowedTools": "--deny PATTERN",
        "--disallowed-tools": "--deny PATTERN",
        "--deny-tool": "--deny PATTERN",
        "--exclude-tools": "--deny PATTERN",
        "--message": _PROMPT,
        "--query": _PROMPT,
        "--ask-prompt": _PROMPT,
        "--exec": _PROMPT,
        "-e": _PROMPT,
        "--headless": _PROMPT,
        "--non-interactive": _PROMPT,
        "--noninteractive": _PROMPT,
        "--no-interactive": _PROMPT,
        "--stdin": "-p -",
        "--file": "@FILE within the prompt",
        "-f": "@FILE within the prompt",
        "--attach": "@FILE within the prompt",
        "-m": "--model NAME",
        "--models": "caliban models",
        "--list-models": "caliban models",
        "--list-sessions": "--resume NAME or --continue",
        "--doctor": "caliban doctor",
        "--login": "caliban login",
        "--api-key": _KEY,
        "--apikey": _KEY,
        "--key": _KEY,
        "--token": _KEY,
        "-k": _KEY,
        "--api-base": _URL,
        "--endpoint": _URL,
        "--host": _URL,
        "--url": _URL,
        "--session-id": _SESSION,
        "--session-name": _SESSION,
        "--name": _SESSION,
        "-s": _SESSION,
        "--resume-last": "--continue",
        "--last": "--continue",
        "--fork": "--fork-session",
        "--branch": "--fork-session",
        "--no-session": "--no-save",
        "--no-session-persistence": "--no-save",
        "--ephemeral": "--no-save",
        "-q": "--quiet",
        "--silent": "--quiet",
        "--effort": _EFFORT,
        "--reasoning-effort": _EFFORT,
        "--thinking": _EFFORT,
        "--max-thinking-tokens": _EFFORT,
        "--budget": "--max-budget-usd USD",
        "--max-budget": "--max-budget-usd USD",
        "--max-cost": "--max-budget-usd USD",
        "--max-iterations": "--max-turns N",
        "--max-steps": "--max-turns N",
        "--max-output-tokens": "--max-tokens N",
        "--temp": "--temperature F",
        "-t": "--temperature F",
        "--schema": _SCHEMA,
        "--output-schema": _SCHEMA,
        "--response-format": _SCHEMA,
        "--config-file": "--settings FILE_OR_JSON",
        "--profile": "--settings FILE_OR_JSON",
        "--trust": "--trust-project",
        "--log-level": _DEBUG,
        "--debug-file": _DEBUG,
        "--fallback": "--fallback-model NAME",
    }
)
"""A flag of another tool -> how it is said here."""

COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "auth": "login",
        "signin": "login",
        "signout": "logout",
        "whoami": "status",
        "check": "doctor",
        "diagnose": "doctor",
        "permissions": "perms",
        "model": "models",
        "list-models": "models",
        "usage": "help",
        "about": "version",
        "completions": "completion",
        "exec": "help",
        "run": "help",
        "chat": "help",
        "resume": "help",
        "continue": "help",
        "fork": "sessions",
        "hooks": "config",
        "setup-token": "login",
        "update": "version",
        "upgrade": "version",
    }
)
"""A command of another tool -> ours that comes nearest."""

WAYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "exec": "caliban -p PROMPT",
        "run": "caliban -p PROMPT",
        "chat": "caliban without a word",
        "resume": "caliban --continue for the session used last here, caliban --resume NAME for another",
        "continue": "caliban --continue",
        "fork": "caliban sessions fork NAME NEW",
        "hooks": "caliban config get hooks",
        "setup-token": "caliban login",
    }
)
"""A command of another tool -> the whole line that does the same here."""

VERBS: Final = (
    ("rm", "remove", "delete", "del", "uninstall"),
    ("list", "ls"),
    ("show", "get", "cat", "view", "info", "explain", "inspect"),
    ("install", "add", "i"),
    ("init", "new", "create"),
    ("add", "new", "create", "install", "allow", "deny", "ask"),
    ("update", "upgrade", "refresh"),
    ("doctor", "status", "test", "check", "diagnose", "ping"),
    ("login", "auth", "authenticate", "signin"),
    ("import", "add-from-claude-desktop"),
    ("marketplace", "search", "browse", "discover"),
)
"""Second words of commands that mean one thing, each in the order in which one is offered for another."""

TOOLS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "shell": "Bash",
        "terminal": "Bash",
        "exec": "Bash",
        "execute": "Bash",
        "command": "Bash",
        "run_command": "Bash",
        "run_shell_command": "Bash",
        "read_file": "Read",
        "view": "Read",
        "cat": "Read",
        "write_file": "Write",
        "create": "Write",
        "str_replace": "Edit",
        "replace": "Edit",
        "apply_patch": "Edit",
        "search": "Grep",
        "find": "Glob",
        "todo": "TodoWrite",
        "update_plan": "TodoWrite",
        "askuserquestion": "AskUser",
        "ask_user": "AskUser",
    }
)
"""A tool of another harness, in small letters -> ours."""
