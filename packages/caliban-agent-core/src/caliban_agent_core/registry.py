"""Tools that installed packages offer: the entry points of the group `caliban.tools`, each one object.

A package names its tool in its metadata, as `name = module:attribute`. Every start has to look for them, so
the metadata is read here and not by `importlib.metadata`: 1 ms beside 35 for ninety packages.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import cast

from msgspec import Struct

from caliban_agent_core.errors import ToolDefinitionError
from caliban_agent_core.function import NAME
from caliban_agent_core.toolset import spec_fault
from caliban_common.tool import Tool, ToolSpec

ENTRY_POINT_GROUP = "caliban.tools"
SEARCH_NAME = "ToolSearch"
"""Our own tool that finds deferred ones: no package has one of this name."""

MAX_METADATA_BYTES = 1 << 20
"""Of one package's list of entry points: what is longer is not read to its end."""


class InstalledTools(Struct, frozen=True, kw_only=True):
    """The tools that loaded, in the order of their entry points' names, and why others did not."""

    tools: tuple[Tool, ...] = ()
    problems: tuple[ToolDefinitionError, ...] = ()


def installed_tools(taken: Collection[str] = (), *, folders: Iterable[str] | None = None) -> InstalledTools:
    """Import what the packages in `folders` (else in `sys.path`) offer. A broken tool is a problem, no error.

    A tool of a name in `taken`, or of one before it, is left out and named.
    """
    names = {SEARCH_NAME, *taken}
    tools: list[Tool] = []
    problems: list[ToolDefinitionError] = []
    for entry, reference in sorted(_references(_searched() if folders is None else folders).items()):
        try:
            tool = _load(entry, reference)
            if tool.spec.name in names:
                raise _refused(entry, reference, f"there is a tool {tool.spec.name!r} already")
        except ToolDefinitionError as error:
            problems.append(error)
            continue
        names.add(tool.spec.name)
        tools.append(tool)
    return InstalledTools(tools=tuple(tools), problems=tuple(problems))


def _searched() -> list[str]:
    """Where packages are installed: not the folder that a person happens to be in, nor Python's own."""
    library = Path(os.__file__).parent
    apart = {"", str(library), str(library / "lib-dynload")}
    with suppress(OSError):  # a directory that was removed holds no packages
        apart.add(str(Path.cwd()))
    return [folder for folder in sys.path if folder not in apart]


def _references(folders: Iterable[str]) -> dict[str, str]:
    """References by the names of their entry points; the first of two with one name counts."""
    references: dict[str, str] = {}
    for folder in folders:
        for text in _metadata(folder):
            for name, reference in _members(text):
                references.setdefault(name, reference)
    return references


def _metadata(folder: str) -> Iterator[str]:
    """The lists of entry points in `folder` that have our group."""
    try:
        with os.scandir(folder) as entries:
            packages = sorted(
                entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))
            )
    except OSError:
        return  # a path that is not there, or an archive
    group = f"[{ENTRY_POINT_GROUP}]".encode()
    for package in packages:
        try:
            descriptor = os.open(f"{package}/entry_points.txt", os.O_RDONLY)
        except OSError:
            continue  # most packages offer nothing
        try:
            data = os.read(descriptor, MAX_METADATA_BYTES)
        except OSError:
            continue
        finally:
            os.close(descriptor)
        if group in data:
            yield data.decode("utf-8", "replace")


def _members(text: str) -> Iterator[tuple[str, str]]:
    """Name and reference of each entry point of our group."""
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == f"[{ENTRY_POINT_GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, reference = line.partition("=")
            yield name.strip(), reference.strip()


def _load(entry: str, reference: str) -> Tool:
    """Import one tool. Everything a plugin can throw ends here: this is the wall of plugin loading."""
    module, _, attribute = reference.partition("[")[0].partition(":")
    try:
        tool: object = import_module(module.strip())
        for part in attribute.strip().split("."):
            tool = getattr(tool, part)
        spec = getattr(tool, "spec", None)
        is_tool = callable(getattr(tool, "invoke", None)) and callable(getattr(tool, "conflict_key", None))
        name = spec.name if isinstance(spec, ToolSpec) else None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _refused(entry, reference, f"{type(error).__name__}: {error}") from error
    if not is_tool or not isinstance(name, str):
        raise _refused(entry, reference, "it is no tool: one has a spec, conflict_key and invoke")
    if re.fullmatch(NAME, name) is None:
        raise _refused(entry, reference, f"{name[:80]!r} is no name for a tool")
    fault = spec_fault(cast("ToolSpec", spec))
    if fault:
        raise _refused(entry, reference, f"it cannot be told to a model: {fault}")
    return cast("Tool", tool)


def _refused(entry: str, reference: str, why: str) -> ToolDefinitionError:
    return ToolDefinitionError(
        f"the tool {entry!r} ({reference}) is left out: {' '.join(why.split())[:300]}",
        hint="reinstall or remove the package that offers it",
    ).with_remedy("tool_package")
