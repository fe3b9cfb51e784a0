"""Structured values against the schema that a tool promised: told, never held against the value."""

from __future__ import annotations

from typing import Any

from caliban_common.text import one_line
from caliban_mcp_client.values import Json

_MAX_SCHEMA_CHARS = 200_000


def mismatch(value: Any, schema: Json) -> str | None:
    """In which way `value` does not fit; `None` where it does. Nothing is fetched for a schema."""
    if len(repr(schema)) > _MAX_SCHEMA_CHARS:
        return "its schema is too large to be checked"
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(dict(schema), retriever=_fetch_nothing).validate(value)
    except jsonschema_rs.ValidationError as error:
        place = "".join(f"[{step!r}]" for step in error.instance_path)
        return (
            f"the structured value{place} does not fit its schema: {one_line(error.message, max_chars=200)}"
        )
    except (ValueError, TypeError, RecursionError) as error:
        return f"its schema cannot be used: {one_line(str(error), max_chars=200)}"
    return None


def _fetch_nothing(uri: str) -> Any:
    raise ValueError(f"{one_line(uri, max_chars=100)} is elsewhere, and nothing is fetched for a schema")
