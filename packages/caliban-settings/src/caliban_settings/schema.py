"""The one table that knows the settings: every key, its form, how scopes merge and who may set it.

The form of a value is written in the words of JSON Schema (a small part of it, which `check` reads). In a
path, `*` stands for any name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

Scope: TypeAlias = Literal["managed", "user", "project", "local", "cli"]
SCOPES: Final[tuple[Scope, ...]] = ("managed", "user", "project", "local", "cli")
"""Lowest first."""

ANYONE: Final = SCOPES
PERSON: Final[tuple[Scope, ...]] = ("managed", "user", "cli")
"""Those that no repository can write: the administrator's, the user's and the command line's."""

Merge: TypeAlias = Literal["highest", "join", "append", "strictest"]
"""`highest`: the highest scope's value. `join`: lists one behind the other, lower scopes first, without
doubles. `append`: the same with doubles. `strictest`: true when any scope says true."""

Guard: TypeAlias = Literal["free", "trust", "tighten", "rules", "environment", "inside", "server"]
"""What a value from a repository (scopes project and local) needs.

`free`: nothing. `trust`: the workspace must be trusted. `tighten`: only `true` counts. `rules`: allow rules
need trust. `environment`: trust, and a name that steers no program. `inside`: a directory inside the
workspace. `server`: trust, and nothing of a server that a person defined is changed.
"""

Form: TypeAlias = Mapping[str, Any]


class Key(Struct, frozen=True, kw_only=True):
    """One setting. `restart` marks what a running session does not take over."""

    path: str
    form: Form
    doc: str
    merge: Merge = "highest"
    scopes: tuple[Scope, ...] = ANYONE
    guard: Guard = "free"
    restart: bool = False
    default: Any = None
    aliases: tuple[str, ...] = ()


TEXT: Final[Form] = {"type": "string"}
FLAG: Final[Form] = {"type": "boolean"}
TEXTS: Final[Form] = {"type": "array", "items": TEXT}
TABLE: Final[Form] = {"type": "object"}
COUNT: Final[Form] = {"type": "integer", "minimum": 0}
VALUE: Final[Form] = {"type": ["string", "integer", "number", "boolean"]}
ANY: Final[Form] = {}
MODEL: Final[Form] = {
    "anyOf": [
        TEXT,
        {"type": "object", "properties": {"provider": TEXT, "name": TEXT}, "required": ["name"]},
    ]
}
RULE: Final[Form] = {
    "type": "object",
    "properties": {
        "pattern": TEXT,
        "action": {"enum": ["allow", "ask", "deny"]},
        "comment": TEXT,
        "reason": TEXT,
        "expires_at": TEXT,
    },
    "required": ["pattern", "action"],
    "additionalProperties": False,
}
STATUS_LINE: Final[Form] = {
    "type": "object",
    "properties": {
        "command": TEXT,
        "timeout_ms": {"type": "integer", "minimum": 50, "maximum": 5000},
        "padding": {"type": "integer", "minimum": 0, "maximum": 8},
    },
    "required": ["command"],
}
HELPER: Final[Form] = {
    "type": "object",
    "properties": {
        "command": TEXT,
        "args": TEXTS,
        "provider": TEXT,
        "refreshIntervalMs": COUNT,
        "slowHelperWarningMs": COUNT,
    },
    "required": ["command"],
}
HELPERS: Final[Form] = {"anyOf": [TEXT, HELPER, {"type": "array", "items": HELPER}]}
MODES: Final[Form] = {"enum": ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]}
SHARE: Final[Form] = {"type": ["number", "null"], "minimum": 0, "maximum": 1}

SCHEMA: Final[tuple[Key, ...]] = (
    # model and agent
    Key(path="agent", form=TEXT, doc="Profile that sub-agents take when none is named."),
    Key(path="model", form=MODEL, restart=True, doc="The model, or its provider and name."),
    Key(path="fallback_model", form=MODEL, restart=True, doc="The model to ask when the first one fails."),
    Key(path="model_overrides.*", form=TEXT, doc="The model for one purpose, such as summarization."),
    Key(
        path="model_overrides.fast-classifier",
        form=TEXT,
        scopes=PERSON,
        doc="The model that judges tool calls.",
    ),
    Key(
        path="model_overrides.fast_classifier",
        form=TEXT,
        scopes=PERSON,
        doc="The same, by the router's name.",
    ),
    Key(
        path="budget.soft_ratio",
        scopes=PERSON,
        form={"type": "number", "minimum": 0, "maximum": 1},
        default=0.8,
        doc="Share of --max-budget-usd from which on cheaper routes and less effort are preferred.",
    ),
    Key(
        path="budget.unpriced",
        scopes=PERSON,
        form={"enum": ["count_zero", "refuse"]},
        default="count_zero",
        doc="What to do under a budget with a model whose price nobody knows.",
    ),
    Key(path="effort", form={"enum": ["low", "medium", "high", "max", "auto"]}, doc="How hard to think."),
    Key(path="max_turns", form=COUNT, default=50, doc="Turns of one run; 0 ends it at once."),
    Key(
        path="max_tokens",
        form={"type": "integer", "minimum": 1},
        default=8192,
        doc="Output tokens of one turn.",
    ),
    Key(
        path="no_edit_nudge_turns",
        form=COUNT,
        default=10,
        doc="Turns without an edit before a nudge; 0 is never.",
    ),
    Key(path="provider.*.kind", form=TEXT, scopes=PERSON, restart=True, doc="Which adapter speaks to it."),
    Key(path="provider.*.base_url", form=TEXT, scopes=PERSON, restart=True, doc="Where its API is."),
    Key(
        path="provider.*.api_key_env",
        form=TEXT,
        scopes=PERSON,
        restart=True,
        doc="The variable with its key.",
    ),
    Key(
        path="provider.*.headers.*", form=TEXT, scopes=PERSON, restart=True, doc="A header of every request."
    ),
    Key(
        path="provider.*.options.*",
        form=VALUE,
        scopes=PERSON,
        restart=True,
        doc="What only this provider knows, such as a region; a name it does not know is an error.",
    ),
    # permissions
    Key(
        path="permissions.allow",
        form=TEXTS,
        merge="join",
        guard="trust",
        doc="Patterns that need no question.",
    ),
    Key(path="permissions.ask", form=TEXTS, merge="join", doc="Patterns that a person is asked about."),
    Key(path="permissions.deny", form=TEXTS, merge="join", doc="Patterns that are refused."),
    Key(
        path="permissions.rules",
        form={"type": "array", "items": RULE},
        merge="append",
        guard="rules",
        doc="Rules in order; the first that matches decides. Buckets of the same file stand behind them.",
    ),
    Key(
        path="permissions.enforce",
        form=FLAG,
        merge="strictest",
        guard="tighten",
        default=False,
        doc="Refuse to start without permissions or in bypass mode.",
    ),
    Key(path="permissions.default_mode", form=MODES, scopes=PERSON, doc="The mode that a session begins in."),
    Key(
        path="permissions.audit_log",
        form=FLAG,
        merge="strictest",
        guard="tighten",
        default=True,
        doc="Write every decision to a log.",
    ),
    # hooks
    Key(
        path="hooks.*",
        form={"type": "array", "items": TABLE},
        merge="append",
        guard="trust",
        doc="What runs at one event.",
    ),
    Key(path="disable_all_hooks", form=FLAG, scopes=PERSON, default=False, doc="Run no hook at all."),
    Key(
        path="allow_managed_hooks_only",
        form=FLAG,
        merge="strictest",
        guard="tighten",
        default=False,
        doc="Run the administrator's hooks only.",
    ),
    Key(
        path="allowed_http_hook_urls", form=TEXTS, merge="join", scopes=PERSON, doc="Where HTTP hooks may go."
    ),
    Key(
        path="http_hook_allowed_env_vars",
        form=TEXTS,
        merge="join",
        scopes=PERSON,
        doc="Variables that HTTP hooks may send.",
    ),
    # MCP servers
    Key(
        path="mcp_servers.*.type",
        form={"enum": ["stdio", "http", "sse"]},
        guard="server",
        restart=True,
        default="stdio",
        aliases=("transport",),
        doc="How the server is spoken to.",
    ),
    Key(path="mcp_servers.*.command", form=TEXT, guard="server", restart=True, doc="The program (stdio)."),
    Key(path="mcp_servers.*.args", form=TEXTS, guard="server", restart=True, doc="Its arguments."),
    Key(
        path="mcp_servers.*.env.*",
        form=TEXT,
        guard="server",
        restart=True,
        doc="A variable of its environment.",
    ),
    Key(path="mcp_servers.*.cwd", form=TEXT, guard="server", restart=True, doc="Its working directory."),
    Key(path="mcp_servers.*.url", form=TEXT, guard="server", restart=True, doc="The address (http, sse)."),
    Key(
        path="mcp_servers.*.headers.*",
        form=TEXT,
        guard="server",
        restart=True,
        doc="A header of every request.",
    ),
    Key(
        path="mcp_servers.*.oauth",
        form={"enum": ["off", "auto", "manual"]},
        guard="server",
        restart=True,
        default="off",
        doc="How to log in.",
    ),
    Key(
        path="mcp_servers.*.oauth_config", form=TABLE, guard="server", restart=True, doc="For oauth = manual."
    ),
    Key(
        path="mcp_servers.*.permissions.allow",
        form=TEXTS,
        merge="join",
        guard="server",
        restart=True,
        doc="Its tools that need no question.",
    ),
    Key(
        path="mcp_servers.*.permissions.deny",
        form=TEXTS,
        merge="join",
        guard="server",
        restart=True,
        doc="Its tools that are refused.",
    ),
    Key(
        path="mcp_servers.*.disabled",
        form=FLAG,
        guard="server",
        restart=True,
        default=False,
        doc="Keep the entry, do not start the server.",
    ),
    # parts that others own
    Key(path="router", form=TABLE, scopes=PERSON, restart=True, doc="Routes; the router owns their form."),
    Key(path="memory.auto_memory_enabled", form=FLAG, doc="Keep topics of its own."),
    Key(path="memory.auto_memory_directory", form=TEXT, scopes=PERSON, doc="Where those topics are."),
    Key(path="memory.cap_tokens_auto", form=COUNT, doc="Tokens for topics."),
    Key(path="memory.cap_tokens_claude_md", form=COUNT, doc="Tokens for CLAUDE.md files."),
    Key(path="memory.cap_tokens_combined", form=COUNT, doc="Tokens for both."),
    Key(path="plugins", form=TABLE, guard="trust", doc="Plugins; their package owns the form."),
    # appearance
    Key(path="output_style", form=TEXT, restart=True, default="default", doc="The active output style."),
    Key(path="editor_mode", form={"enum": ["vim", "emacs"]}, doc="Keys of the input line."),
    Key(path="view_mode", form={"enum": ["compact", "expanded"]}, doc="Layout of the terminal interface."),
    Key(
        path="statusLine",
        form=STATUS_LINE,
        guard="trust",
        aliases=("status_line",),
        doc="A command whose output stands in the status line.",
    ),
    Key(path="tui.*", form=ANY, doc="A knob of the terminal interface, such as showCostInStatusline."),
    # keys, telemetry, context
    Key(path="api_key_helper", form=HELPERS, guard="trust", doc="A program that prints an API key."),
    Key(path="enable_telemetry", form=FLAG, scopes=PERSON, default=False, doc="Send OpenTelemetry data."),
    Key(
        path="auto_compact_threshold",
        form=SHARE,
        restart=True,
        default=0.75,
        doc="Share of the context window at which the history is compacted; null is never.",
    ),
    Key(
        path="micro_compact_enabled",
        form=FLAG,
        restart=True,
        default=True,
        doc="Leave out results that a later call superseded.",
    ),
    Key(
        path="tool_result_cap_chars",
        form=COUNT,
        default=50000,
        doc="Characters of a tool result; 0 is no cap.",
    ),
    Key(path="min_cache_block_tokens", form=COUNT, default=1024, doc="Tokens that are worth a cache marker."),
    # scopes and files
    Key(
        path="parent_settings_behavior",
        form={"enum": ["block", "augment"]},
        scopes=("managed",),
        default="augment",
        doc="`block` puts the administrator's settings above all others.",
    ),
    Key(
        path="additional_directories",
        form=TEXTS,
        merge="join",
        guard="inside",
        doc="Further directories that tools may use.",
    ),
    Key(
        path="claude_md_excludes",
        form=TEXTS,
        merge="join",
        aliases=("claudeMdExcludes",),
        doc="CLAUDE.md files that are not read.",
    ),
    Key(path="env.*", form=TEXT, guard="environment", doc="A variable for every program that is started."),
)
