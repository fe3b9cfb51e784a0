"""The plan of the house as data: floors, doors, walls, and the exceptions to the rules, each with its reason.

A row is added here in the same change as the code it speaks of, or removed with it: the tests fail on a row
that nothing needs any more.
"""

from __future__ import annotations

from collections.abc import Mapping

COMMON = "caliban_common"
PROVIDER = "caliban_provider"
ANTHROPIC = "caliban_provider_anthropic"

FLOORS: Mapping[str, int] = {
    COMMON: 0,
    PROVIDER: 1,
    "caliban_settings": 1,
    "caliban_permissions": 1,
    "caliban_hooks": 1,
    "caliban_sandbox": 1,
    "caliban_sessions": 1,
    "caliban_worktrees": 1,
    "caliban_memory": 1,
    "caliban_skills": 1,
    "caliban_plugins": 1,
    "caliban_mcp_client": 1,
    "caliban_images": 1,
    "caliban_output_styles": 1,
    "caliban_telemetry": 1,
    "caliban_agent_core": 2,
    "caliban_model_router": 2,
    ANTHROPIC: 2,
    "caliban_provider_openai": 2,
    "caliban_provider_google": 2,
    "caliban_provider_ollama": 2,
    "caliban_provider_local": 2,
    "caliban_provider_bedrock": 2,
    "caliban_provider_vertex": 2,
    "caliban_tools_builtin": 2,
    "caliban_checkpoint": 2,
    "caliban_supervisor": 2,
    "caliban_drive": 3,
    "caliban_commands": 3,
    "caliban_headless": 4,
    "caliban_tui": 4,
    "caliban_serve": 4,
    "caliban": 5,
}
"""The floor of every package, of those to come too. Imports go down only."""

NEIGHBOURS: Mapping[str, tuple[str, ...]] = {
    "caliban_agent_core": (COMMON, PROVIDER),
    "caliban_model_router": (COMMON, PROVIDER),
    ANTHROPIC: (COMMON, PROVIDER),
    "caliban_provider_openai": (COMMON, PROVIDER),
    "caliban_provider_google": (COMMON, PROVIDER),
    "caliban_provider_ollama": (COMMON, PROVIDER),
    "caliban_provider_local": (COMMON, PROVIDER),
    "caliban_provider_bedrock": (COMMON, PROVIDER, ANTHROPIC),
    "caliban_provider_vertex": (COMMON, PROVIDER, ANTHROPIC),
    "caliban_tools_builtin": (COMMON, "caliban_sandbox"),
    "caliban_checkpoint": (COMMON, "caliban_sessions"),
    "caliban_supervisor": (COMMON, "caliban_worktrees"),
    "caliban_commands": (COMMON, "caliban_drive"),
}
"""What a package may import where its floor alone says too much or too little. Floor 1: `(COMMON,)`."""

APP_ONLY = ("caliban_settings",)
"""Packages that only the app may import: everyone else takes frozen options, never settings."""

HTTP_DOOR = "caliban_provider.http"
"""The only module that imports an HTTP library."""

HTTP_LIBRARIES = ("httpx", "httpx2", "requests", "aiohttp", "urllib3", "http.client", "urllib.request")

EVENT_LOOPS: Mapping[str, str] = {
    "caliban_provider.testing.loopback": "a test server that shares no event loop with the client under test",
}
"""Modules that may import `asyncio` or `threading`. Everyone else uses anyio."""

HEAVY = (
    "asyncio",
    "httpx",
    "importlib.metadata",
    "jsonschema_rs",
    "logging.config",
    "pathspec",
    "prompt_toolkit",
    "pydantic",
    "ssl",
    "structlog",
    "trio",
    "wcmatch",
    "xllamacpp",
)
"""What costs milliseconds: importing a module of ours loads none, unless `HEAVY_AT_IMPORT` says so."""

HEAVY_AT_IMPORT: Mapping[str, tuple[str, ...]] = {}
"""Module -> the heavy libraries that importing it may load."""

LAZY_DOORS: Mapping[str, str] = {}
"""Modules that import ours inside functions -> why. Heavy third-party libraries need no row."""

OUTSIDE_ENVIRONMENT: Mapping[str, str] = {}
"""Modules below the app that read the process's environment -> why."""

WALLS: Mapping[str, str] = {}
"""`module:function` that catches every exception -> what it walls off."""

SIZES: Mapping[str, str] = {}
"""Module, or `module:function`, beyond the limits of size -> why it is better whole. Starts empty."""

DATACLASSES: Mapping[str, str] = {
    "caliban_provider.stream": "made once per delta of a stream: positional construction is half the cost",
}
"""Module or `module:Class` whose dataclasses are not frozen, slotted and keyword-only -> why."""

BANNED_NAMES = (
    "util",
    "utils",
    "helper",
    "helpers",
    "misc",
    "manager",
    "managers",
    "base",
    "core",
    "stuff",
    "common",
)
"""Words that say nothing about what lives in a module."""

ERRORS_ELSEWHERE: Mapping[str, str] = {}
"""`module:Class` of an exception that lives outside its package's `errors.py` -> why."""

SCOPES = (
    "create_task_group",
    "CancelScope",
    "fail_after",
    "move_on_after",
    "open_nursery",
    "TaskGroup",
)
"""What a `yield` must not leave open, except in a context manager."""
