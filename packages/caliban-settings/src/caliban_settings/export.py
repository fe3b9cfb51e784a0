"""The schema as a JSON Schema document, for editors and for the documentation."""

from __future__ import annotations

from typing import Any

from caliban_settings.leaves import Node, schema_tree
from caliban_settings.schema import SCHEMA


def json_schema() -> dict[str, Any]:
    """The form of a settings file as JSON Schema 2020-12; unknown keys are allowed, as when loading."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Caliban settings",
        **_table(schema_tree(SCHEMA)),
    }


def _table(node: Node) -> dict[str, Any]:
    table: dict[str, Any] = {"type": "object"}
    if node.children:
        table["properties"] = {name: _form(child) for name, child in node.children.items()}
    if node.star is not None:
        table["additionalProperties"] = _form(node.star)
    return table


def _form(node: Node) -> dict[str, Any]:
    if node.key is None:
        return _table(node)
    form = {**node.key.form, "description": node.key.doc}
    if node.key.default is not None:
        form["default"] = node.key.default
    return form
