"""`caliban models --providers`: every provider that can be named, its address, the variable of its key."""

from __future__ import annotations

import os

from msgspec import Struct
from msgspec.structs import asdict

from caliban.cli.invocation import Invocation
from caliban.commands.inputs import model_inputs
from caliban.commands.report import report
from caliban.compose.catalog import BUILTIN, EXTRAS, ProviderEntry, find_provider, provider_tables
from caliban.compose.keys import locate_key
from caliban.compose.presets import PRESETS
from caliban.stdio import print_text, write_out
from caliban_common.codec import dumps
from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_drive.notice import Notice
from caliban_provider.registry import clashes, names

HEADER = ("PROVIDER", "KIND", "ADDRESS", "KEY")
OWN = "(its own)"


class ProviderRow(Struct, frozen=True, kw_only=True):
    """A provider that can be named; `key` is the variable of its key, and `has_key` whether there is one."""

    name: str
    kind: str
    base_url: str | None
    key: str | None
    has_key: bool


def list_providers(invocation: Invocation) -> int:
    """List the providers, one a line, or as JSON."""
    inputs = model_inputs(invocation.options)
    tables = provider_tables(inputs.settings)
    twice = clashes()
    for name, packages in twice.items():
        message = f"several packages offer a provider {name!r}: {' and '.join(packages)}"
        report(Notice(subtype="provider_clash", message=message))
    rows = []
    for name in sorted({*names(BUILTIN), *EXTRAS, *PRESETS, *tables} - (twice.keys() - BUILTIN.keys())):
        try:
            entry = find_provider(name, tables)
        except CalibanError as error:
            if name in tables:
                report(Notice(subtype="provider_unknown", message=error.message))
            continue
        located = locate_key(name, entry.key_variables, inputs.settings, os.environ)
        rows.append(_row(entry, has_key=located is not None))
    if invocation.values["json"]:
        return write_out(b"".join(dumps(asdict(row)) + b"\n" for row in rows))
    return print_text(_table(rows))


def _row(entry: ProviderEntry, *, has_key: bool) -> ProviderRow:
    variables = entry.key_variables
    return ProviderRow(
        name=entry.name,
        kind=entry.kind,
        base_url=entry.table.get("base_url"),
        key=variables[0] if variables else None,
        has_key=has_key,
    )


def _table(rows: list[ProviderRow]) -> str:
    lines = [HEADER]
    for row in rows:
        key = "none" if row.key is None else f"{row.key}{' (set)' if row.has_key else ''}"
        lines.append((one_line(row.name), one_line(row.kind), one_line(row.base_url or OWN), one_line(key)))
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER) - 1)]
    return "".join(
        "  ".join((*map(str.ljust, line[:-1], widths), line[-1])).rstrip() + "\n" for line in lines
    )
