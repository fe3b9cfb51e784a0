"""Environment variables of the guide that this version does not read: none is silently without effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from caliban.cli.environment import variables
from caliban_common.near import nearest

PREFIX: Final = "CALIBAN_"

LATER_VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        f"{PREFIX}{name}": feature
        for feature, names in (
            ("another folder for plugins is", ("PLUGIN_ROOT",)),
            ("background agents are", ("DAEMON_RUNTIME_DIR", "KEEP_WORKTREES")),
            ("telemetry is", ("ENABLE_TELEMETRY", "OTEL_HEADERS_HELPER")),
        )
        for name in names
    }
)
"""A variable of the guide -> the feature that it configures, with its verb."""

INNER_VARIABLES: Final = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "ADDITIONAL_DIRECTORIES_CLAUDE_MD",
        "API_KEY_HELPER_TTL_MS",
        "APPROVE_IMPORTS",
        "AUTO_MEMORY_DIRECTORY",
        "AWS_AUTH_REFRESH",
        "BLOCKED_MARKETPLACES",
        "CLAUDE_MD_EXCLUDES",
        "DISABLE_AUTO_MEMORY",
        "DISABLE_CLAUDE_MD_WALK",
        "CHECKPOINT_MAX_BYTES",
        "CHECKPOINT_MAX_FILE_BYTES",
        "CHECKPOINT_ROOT",
        "CLEANUP_PERIOD_DAYS",
        "ENABLED_PLUGINS",
        "GCP_AUTH_REFRESH",
        "GRAPHICS",
        "HOOK_DEPTH",
        "LOCAL_CONTEXT_TOKENS",
        "LOCAL_THREADS",
        "MAX_MCP_OUTPUT_TOKENS",
        "MCP_TIMEOUT",
        "MCP_TOOL_TIMEOUT",
        "MEMORY_BUDGET_TOKENS",
        "MEMORY_CAP_TOKENS_AUTO",
        "MEMORY_CAP_TOKENS_CLAUDE_MD",
        "MEMORY_DIR",
        "OUTPUT_STYLE",
        "PLUGIN_DATA",
        "PROJECT_DIR",
        "SHELL",
        "STRICT_KNOWN_MARKETPLACES",
        "STRICT_PLUGIN_ONLY_CUSTOMIZATION",
        "STRICT_ROUTING",
    )
)
"""Variables that a part of the program reads, or sets for its children."""


def about_variables(environ: Mapping[str, str]) -> Iterator[str]:
    """Warnings about variables that are set and have no effect, misspelt ones included."""
    given = sorted(name for name in environ if name.startswith(PREFIX) and environ[name])
    if not given:
        return
    known = {*variables(), *INNER_VARIABLES}
    for name in given:
        if name in LATER_VARIABLES:
            yield f"{name} has no effect: {LATER_VARIABLES[name]} not part of this version"
        elif name not in known:
            near = nearest(name.removeprefix(PREFIX), (word.removeprefix(PREFIX) for word in known))
            if near is not None:
                yield f"{name} has no effect: did you mean {PREFIX}{near}?"
