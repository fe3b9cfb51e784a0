"""An answer in the shape of a JSON Schema: find the object in the reply, check it, ask again if it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_drive.errors import BadSchema, SchemaMismatch

MAX_SCHEMA_BYTES = 1 << 20
MAX_REPAIRS = 2


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
        """The value in `reply` that fits. Raises `SchemaMismatch`."""
        value = extract(reply)
        import jsonschema_rs

        validator = jsonschema_rs.validator_for(self.data, retriever=_fetch_nothing)
        error = next(iter(validator.iter_errors(value)), None)
        if error is not None:
            place = "".join(
                f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path
            )
            where = f" at `{place.lstrip('.')}`" if place else ""
            raise SchemaMismatch(f"the answer does not fit the schema{where}: {error.message}")
        return value

    def repair_prompt(self, error: SchemaMismatch) -> str:
        """What the model is told when its answer does not fit."""
        return (
            f"That answer cannot be used: {error.message}. Answer again with only the corrected JSON value."
        )

    def instruction(self) -> str:
        """What the model is told about it."""
        text = json.dumps(self.data, ensure_ascii=False)
        return (
            f"Give your final answer as one JSON value that fits this JSON Schema, and nothing else:\n{text}"
        )


def load_schema(argument: str) -> AnswerSchema:
    """The schema in `argument`: inline JSON when it begins with a brace or bracket, else a file's path.

    Raises `BadSchema` for a file that cannot be read, for what is no JSON, and for what is no schema.
    """
    text = argument.lstrip()
    if not text.startswith(("{", "[")):
        try:
            text = read_regular(Path(argument), max_bytes=MAX_SCHEMA_BYTES).decode("utf-8", "replace")
        except CalibanError as error:
            raise BadSchema(f"--json-schema: {error.message}") from error
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadSchema(f"--json-schema is not JSON: {error}") from error
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(data, retriever=_fetch_nothing)
    except (ValueError, TypeError) as error:
        raise BadSchema(f"--json-schema is not a JSON Schema: {str(error).splitlines()[0]}") from error
    return AnswerSchema(data=data)


def _fetch_nothing(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not part of the schema, and nothing is fetched")


def extract(reply: str) -> Any:
    """The JSON value that `reply` is, or the first object in it. Raises `SchemaMismatch`."""
    try:
        return json.loads(reply)
    except (ValueError, RecursionError):
        pass
    decoder = json.JSONDecoder()
    start = reply.find("{")
    while start >= 0:
        try:
            return decoder.raw_decode(reply, start)[0]
        except (ValueError, RecursionError):
            start = reply.find("{", start + 1)
    raise SchemaMismatch("the answer holds no JSON object")
