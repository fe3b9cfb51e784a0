"""An answer in the shape of a JSON Schema: find the object in the reply, check it, ask again if it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from msgspec import Struct

from caliban_agent_core.answer import MAX_REPAIRS, json_values, repair_prompt
from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_drive.errors import BadSchema, SchemaMismatch

MAX_SCHEMA_BYTES = 1 << 20
NOT_FETCHED = "nothing is fetched, and it refers to"


class AnswerSchema(Struct, frozen=True, kw_only=True):
    """A JSON Schema (2020-12 unless it names another draft) as plain data."""

    data: Any
    max_repairs: int = MAX_REPAIRS

    @property
    def native(self) -> dict[str, Any] | None:
        """The schema for a provider that can hold a reply to it: vendors take objects only."""
        is_object = isinstance(self.data, dict) and self.data.get("type") == "object"
        return self.data if is_object else None

    def check(self, reply: str) -> Any:
        """The value in `reply` that fits, the likeliest answer first. Raises `SchemaMismatch`."""
        import jsonschema_rs

        validator = jsonschema_rs.validator_for(self.data, retriever=_fetch_nothing)
        first: Any = None
        for value in json_values(reply):
            error = next(iter(validator.iter_errors(value)), None)
            if error is None:
                return value
            first = first or error
        if first is None:
            raise SchemaMismatch("the answer holds no JSON value")
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first.instance_path)
        where = f" at `{place.lstrip('.')}`" if place else ""
        raise SchemaMismatch(f"the answer does not fit the schema{where}: {first.message}")

    def repair_prompt(self, error: SchemaMismatch) -> str:
        """What the model is told when its answer does not fit."""
        return repair_prompt(error.message)

    def instruction(self) -> str:
        """What the model is told about it."""
        text = json.dumps(self.data, ensure_ascii=False)
        return (
            f"Give your final answer as one JSON value that fits this JSON Schema, and nothing else:\n{text}"
        )


def load_schema(argument: str, *, name: str = "the schema") -> AnswerSchema:
    """The schema in `argument`: inline JSON when it begins with a brace or bracket, else a file's path.

    Messages call it `name`.

    Raises `BadSchema` for a file that cannot be read, for what is no JSON, and for what is no schema.
    """
    text = argument.lstrip()
    if not text.startswith(("{", "[")):
        try:
            text = decode_text(read_regular(Path(argument), max_bytes=MAX_SCHEMA_BYTES))
        except CalibanError as error:
            raise BadSchema(f"{name}: {error.message}", hint=error.hint) from error
    try:
        data = json.loads(text)
    except ValueError as error:
        raise BadSchema(f"{name} is not JSON: {error}") from error
    except RecursionError as error:
        raise BadSchema(f"{name} is nested too deeply") from error
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(data, retriever=_fetch_nothing)
    except (ValueError, TypeError) as error:
        if "recursion" in str(error).lower():  # deeper than the checker goes, where the parser went on
            raise BadSchema(f"{name} is nested too deeply") from error
        raise BadSchema(f"{name} is not a JSON Schema: {_why(error)}", hint=_way(error)) from error
    return AnswerSchema(data=data)


def _why(error: Exception) -> str:
    """Without the words of the library around ours, and its advice to programmers."""
    words = str(error).splitlines()[0]
    return words[words.index(NOT_FETCHED) :] if NOT_FETCHED in words else words.partition(". ")[0]


def _way(error: Exception) -> str | None:
    words = str(error)
    if NOT_FETCHED in words:
        return "put what it refers to under $defs, and refer to it as #/$defs/NAME"
    return "leave $schema out, or name a draft that is known" if "meta-schema" in words else None


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"{NOT_FETCHED} {uri}")
