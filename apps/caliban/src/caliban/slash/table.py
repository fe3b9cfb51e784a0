"""The app's own slash commands as rows; handlers are loaded when they are called.

Each `run` names `module:function`, an `AppHandler`; `registry` gives it the app.
"""

from __future__ import annotations

from typing import Any, Final

from caliban_commands.builtin.table import BUILTIN
from caliban_commands.command import (
    EVERYWHERE,
    ON_SCREEN,
    Group,
    Place,
    SlashCommand,
    Use,
)

MODEL: Final[frozenset[Use]] = frozenset(["model"])
SERVERS: Final[frozenset[Use]] = frozenset(["servers"])
SAVED: Final[frozenset[Use]] = frozenset(["session"])
ALONE: Final[frozenset[Place]] = frozenset(["idle"])


def _row(name: str, summary: str, group: Group, run: str, arguments: str = "", **facts: Any) -> SlashCommand:
    """A row whose handler is `run` in one of the modules beside this one."""
    place = f"caliban.slash.{run}"
    return SlashCommand(name=name, summary=summary, group=group, run=place, arguments=arguments, **facts)


def _later(name: str, summary: str, group: Group, why: str, *, hidden: bool = False) -> SlashCommand:
    return SlashCommand(name=name, summary=summary, group=group, run="", later=why, hidden=hidden)


APP_COMMANDS: Final = (
    _row(
        "resume",
        "go on with a saved session, or list those there are",
        "Session",
        "sessions:resume",
        "[name or words]",
        opens="always",
    ),
    _row(
        "fork",
        "go on in a copy of this session, which stays as it is",
        "Session",
        "sessions:fork",
        places=ALONE,
        instead='caliban -r SESSION --fork-session -p "…"',
    ),
    _row("tree", "show sessions with their forks below them", "Session", "sessions:tree", opens="bare"),
    _row("rename", "give this session a title", "Session", "sessions:rename", "<title>", uses=SAVED),
    _row(
        "rewind",
        "go back to before a prompt, with the files, the conversation or both",
        "Session",
        "sessions:rewind",
        aliases=("checkpoint",),
        opens="bare",
    ),
    _row(
        "export",
        "write this session down, without secrets",
        "Session",
        "export:export",
        "[path] [--format=md|json|html] [--force]",
    ),
    _row("recap", "sum up the conversation; it stays as it is", "Session", "asides:recap", uses=MODEL),
    _row(
        "btw",
        "ask a quick question beside the conversation",
        "Session",
        "asides:btw",
        "<question>",
        places=EVERYWHERE,
        uses=MODEL,
    ),
    _row("init", "write a draft of a first file of instructions", "Session", "prompts:init", "[--force]"),
    _row(
        "review",
        "have changes looked at: those of the working tree, or those named",
        "Session",
        "prompts:review",
        "[what]",
        uses=MODEL,
        submits=True,
    ),
    _row(
        "security-review",
        "have changes looked at for holes",
        "Session",
        "prompts:security_review",
        "[what]",
        uses=MODEL,
        submits=True,
    ),
    _row("todos", "show the list of tasks", "Session", "sessions:todos", places=EVERYWHERE),
    _row(
        "tasks",
        "show what goes on in the background",
        "Session",
        "sessions:tasks",
        places=ON_SCREEN,
        aliases=("bashes",),
        instead="nothing outlives a run without a terminal",
        opens="bare",
    ),
    _row(
        "diff",
        "show what this session has changed in files, or what it changed since a prompt",
        "Session",
        "diff:diff",
        "[prompt number]",
        places=EVERYWHERE,
    ),
    _row(
        "model",
        "show the models of the provider, or switch to one",
        "Model",
        "models:model",
        "[id]",
        uses=SAVED,
        opens="bare",
    ),
    _row(
        "effort",
        "show or set how hard the model is to think",
        "Model",
        "models:effort",
        "[low|medium|high|xhigh|max|auto]",
        opens="bare",
    ),
    _row(
        "think", "show or set how many tokens the model may think", "Model", "models:think", "[on|off|TOKENS]"
    ),
    _row(
        "login", "keep the key of a provider", "Model", "models:login", "[provider]", instead="caliban login"
    ),
    _row("logout", "forget the stored key of a provider", "Model", "models:logout", "[provider]"),
    _row(
        "permissions",
        "show the mode and the rules, or change the mode",
        "Permissions",
        "permissions:permissions",
        "[mode]",
        places=EVERYWHERE,
        opens="bare",
    ),
    _row(
        "plan",
        "begin or end plan mode, in which nothing is changed",
        "Permissions",
        "permissions:plan",
        places=ON_SCREEN,
        instead="--permission-mode plan",
    ),
    _row(
        "add-dir",
        "let tools have a further directory until the session ends, or list those there are",
        "Permissions",
        "directories:add_dir",
        "[path]",
    ),
    _row("sandbox", "say how the sandbox of commands stands", "Permissions", "permissions:sandbox"),
    _row(
        "trust",
        "show what the project supplies, and whether it is trusted",
        "Permissions",
        "permissions:trust",
    ),
    _row(
        "context",
        "show what fills the window",
        "Context",
        "context:context",
        places=EVERYWHERE,
        uses=SERVERS,
        opens="bare",
    ),
    _row("usage", "show tokens and cost of this session", "Context", "context:usage", places=EVERYWHERE),
    _row("system", "show the system prompt", "Context", "context:system"),
    _row(
        "memory",
        "show files of instructions and notes; edit, show or delete one",
        "Memory",
        "memory:memory",
        "[list|show NAME|edit NAME|delete NAME]",
    ),
    _row(
        "mcp",
        "show MCP servers, connect anew, switch one off, log in to one",
        "Extensions",
        "extensions:mcp",
        "[server | login server]",
        places=EVERYWHERE,
        uses=SERVERS,
        opens="bare",
    ),
    _row("hooks", "list hooks per event", "Extensions", "extensions:hooks"),
    _row("plugins", "list plugins", "Extensions", "extensions:plugins", aliases=("plugin",)),
    _row("agents", "list the kinds of sub-agents", "Extensions", "extensions:agents"),
    _row(
        "skills",
        "list skills and command files",
        "Extensions",
        "extensions:skills",
        "[name]",
        aliases=("commands",),
    ),
    _row(
        "output-style",
        "show the output styles, and which one is taken",
        "Extensions",
        "extensions:output_style",
        "[name]",
        opens="bare",
    ),
    _row(
        "config",
        "show and change settings, or set one of your own",
        "Diagnostics",
        "config:config",
        "[key [value]]",
        opens="bare",
    ),
    _row(
        "status",
        "say which provider, model and key a run takes",
        "Diagnostics",
        "diagnostics:status",
        places=EVERYWHERE,
    ),
    _row("doctor", "check that a run would work", "Diagnostics", "diagnostics:doctor", "[--deep]"),
    _row("heapdump", "write down what takes memory", "Diagnostics", "diagnostics:heapdump", "[start|stop]"),
    _row(
        "feedback",
        "say where remarks and faults are taken",
        "Diagnostics",
        "diagnostics:feedback",
        aliases=("bug",),
    ),
    _row("statusline", "show the command of the status line", "Screen", "screen:statusline"),
    _row(
        "tui",
        "use the whole screen, or lines as they come",
        "Screen",
        "screen:tui",
        "[inline|full|linear]",
        places=ON_SCREEN,
        instead="the setting tui.painter",
    ),
    _row(
        "theme",
        "show the themes, or take another one",
        "Screen",
        "screen:theme",
        "[name]",
        places=ON_SCREEN,
        instead="the setting tui.theme",
        opens="bare",
    ),
    _row(
        "vim",
        "switch between the keys of vim and of emacs",
        "Screen",
        "screen:vim",
        places=ON_SCREEN,
        instead="the setting editor_mode",
    ),
    _row(
        "view",
        "show tools and thinking in brief, as usual or in full",
        "Screen",
        "screen:view",
        "[brief|normal|full]",
        places=ON_SCREEN,
        instead="the setting tui.detail",
        opens="bare",
    ),
    _row(
        "keybindings",
        "show the keys",
        "Screen",
        "screen:keys",
        places=ON_SCREEN,
        aliases=("keys",),
        instead="the setting tui.keys",
        opens="bare",
    ),
    _row(
        "focus",
        "show the conversation alone, with tools in a line each, or all as before",
        "Screen",
        "screen:focus",
        places=ON_SCREEN,
        instead="the setting tui.detail",
    ),
    _row(
        "terminal-setup",
        "say what the terminal can, and what to set for Shift+Enter",
        "Screen",
        "screen:terminal_setup",
        places=EVERYWHERE,
    ),
    _later(
        "setup-token",
        "make a long-lived token of a subscription",
        "Model",
        "only a vendor's own program makes such a token; caliban login keeps a key, which is what runs take",
    ),
)
"""The commands of the guide, and those that its terminal interface needs."""

BUILT_IN: Final = (*BUILTIN, *APP_COMMANDS)
"""Every command that no file, skill, plugin or server brings; `/help` comes with the registry."""

HELP: Final = "help"
NAMES: Final = frozenset([HELP, *(name for row in BUILT_IN for name in (row.name, *row.aliases))])
"""Their names and aliases."""
