"""config.toml of Codex."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from caliban_settings.foreign.servers import read_servers
from caliban_settings.foreign.translated import (
    NO_EQUAL,
    Carried,
    ForeignPath,
    Found,
    NotCarried,
    Reader,
    Translated,
    collected,
    no_equal,
    one_of,
    read_table,
)

MARKS: Final = frozenset(
    {
        *("approval_policy", "sandbox_mode", "sandbox_workspace_write", "model_provider", "model_providers"),
        *("model_reasoning_effort", "model_reasoning_summary", "model_verbosity", "profiles", "projects"),
        *("shell_environment_policy", "project_doc_max_bytes", "disable_response_storage", "notify"),
    }
)
"""Names by which a file is known as one of Codex."""


def from_codex(data: Mapping[str, Any]) -> Translated:
    """The settings of ours that `data` holds."""
    rest = {name: value for name, value in data.items() if name not in ("model", "model_provider")}

    def found() -> Found:
        yield from _model(data)
        yield from read_table(rest, _READERS)

    return collected(found())


def _model(data: Mapping[str, Any]) -> Found:
    model, provider = data.get("model"), data.get("model_provider")
    if isinstance(model, str):
        value = {"provider": provider, "name": model} if isinstance(provider, str) else model
        yield Carried(path=("model",), value=value, source=("model",))
    elif provider is not None:
        yield NotCarried(path=("model_provider",), why="a provider is named together with its model")


def _providers(value: Any, source: ForeignPath) -> Found:
    for name, table in value.items() if isinstance(value, Mapping) else ():
        here = (*source, name)
        if not isinstance(table, Mapping):
            yield NotCarried(path=here, why="it is no table")
            continue
        own = ("provider", str(name))
        yield Carried(path=(*own, "kind"), value="openai", source=here)
        for member, item in table.items():
            match member:
                case "base_url":
                    yield Carried(path=(*own, "base_url"), value=item, source=(*here, member))
                case "env_key":
                    yield Carried(path=(*own, "api_key_env"), value=item, source=(*here, member))
                case "http_headers" if isinstance(item, Mapping):
                    for header, text in item.items():
                        yield Carried(
                            path=(*own, "headers", str(header)), value=text, source=(*here, member, header)
                        )
                case "name":
                    pass  # what it is called on a screen
                case _:
                    yield NotCarried(path=(*here, member), why=NO_EQUAL)


def _shell_environment(value: Any, source: ForeignPath) -> Found:
    for name, item in value.items() if isinstance(value, Mapping) else ():
        here = (*source, name)
        if name == "set" and isinstance(item, Mapping):
            for variable, text in item.items():
                yield Carried(path=("env", str(variable)), value=str(text), source=(*here, variable))
        elif name == "inherit" and item in ("core", "all"):
            mode = "strict" if item == "core" else "inherit"
            yield Carried(path=("shell_environment",), value=mode, source=here)
        else:
            yield NotCarried(path=here, why=NO_EQUAL)


_EFFORTS: Final[Mapping[str, str]] = MappingProxyType(
    {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}
)
_MODES: Final = "how it asks is said here by permissions.default_mode and by rules"
_BOX: Final = "what commands may reach is said here by sandbox.enabled and sandbox.filesystem"
_READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "model_reasoning_effort": one_of(_EFFORTS, "effort"),
        "model_providers": _providers,
        "mcp_servers": read_servers,
        "shell_environment_policy": _shell_environment,
        "approval_policy": no_equal(_MODES),
        "sandbox_mode": no_equal(_BOX),
        "sandbox_workspace_write": no_equal(_BOX),
        "projects": no_equal("a project is trusted once a person has seen what it supplies"),
        "notify": no_equal("a program is told by a hook, such as hooks.Stop"),
    }
)
