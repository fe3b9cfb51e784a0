"""Settings files: whatever stands in them, they are values or an error of ours."""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from caliban_settings import SCHEMA, SettingsError, load_settings
from fuzzkit.main import Miss
from fuzzkit.shrink import shrink

_ROUND = 200
_SCALARS = (
    "1",
    "-1",
    "0.5",
    "true",
    '"a"',
    '""',
    "'x'",
    "nan",
    "inf",
    "1979-05-27",
    "9" * 30,
    '"\\u0000"',
    '"${HOME}"',
)
_ODD = (
    "=",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    '"""',
    "'''",
    "\n",
    "\r",
    "\0",
    "\ufeff",
    "#",
    ",",
    ".",
    "\\",
    "\u202e",
    "\ud7ff",
)


def rounds(pick: random.Random) -> Iterator[tuple[int, list[Miss]]]:
    """Files of known keys with values of any form, some with odd text in them, as TOML and as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        for name in ("ws/.caliban", "config", "managed"):
            (root / name).mkdir(parents=True)
        while True:
            misses = []
            for _ in range(_ROUND):
                kind = pick.choice(("toml", "json"))
                text = _toml(pick) if kind == "toml" else json.dumps(_value(pick, 4))
                text = _spoiled(pick, text) if pick.random() < 0.4 else text
                why = _wrong(root, kind, text)
                if why:
                    small = shrink(text, lambda shorter, k=kind: bool(_wrong(root, k, shorter)))  # type: ignore[misc]
                    misses.append(Miss(small, f"{kind}: {why}"))
            yield _ROUND, misses


def _wrong(root: Path, kind: str, text: str) -> str:
    scopes = (root / "config" / f"settings.{kind}", root / "ws" / ".caliban" / f"settings.{kind}")
    other = "json" if kind == "toml" else "toml"
    for scope in scopes:
        scope.write_bytes(text.encode("utf-8", "surrogatepass"))
        scope.with_suffix("." + other).unlink(missing_ok=True)
    for trusted in (False, True):
        try:
            load_settings(
                workspace=root / "ws",
                config_dir=root / "config",
                managed_dir=root / "managed",
                trusted=trusted,
            )
        except SettingsError:
            continue
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


def _toml(pick: random.Random) -> str:
    lines = []
    for _ in range(pick.randrange(1, 6)):
        path = str(pick.choice(_KEYS).path)
        lines.append(f"{path.replace('*', 'x')} = {_inline(pick, 3)}")
    if pick.random() < 0.3:
        lines.insert(0, pick.choice(("[permissions]", "[[hooks.PreToolUse]]", "[mcp_servers.x]", "[a.b]")))
    return "\n".join(lines)


def _inline(pick: random.Random, depth: int) -> str:
    chance = pick.random()
    if depth == 0 or chance < 0.6:
        return pick.choice(_SCALARS)
    if chance < 0.8:
        return "[" + ", ".join(_inline(pick, depth - 1) for _ in range(pick.randrange(4))) + "]"
    items = (
        f"{pick.choice(('a', 'pattern', 'action', 'command', 'x y'))!r} = {_inline(pick, depth - 1)}"
        for _ in range(2)
    )
    return "{" + ", ".join(items) + "}"


def _value(pick: random.Random, depth: int) -> Any:
    chance = pick.random()
    if depth == 4 or (depth and chance < 0.3):
        names = [str(key.path).split(".")[0] for key in pick.sample(_KEYS, 3)]
        return {name: _value(pick, depth - 1) for name in (*names, "allow", "hooks")}
    if depth and chance < 0.5:
        return [_value(pick, depth - 1) for _ in range(pick.randrange(4))]
    return pick.choice((1, -1, 0.5, True, None, "a", "", "Bash:*", 10**30, "\u0000", "\ud800"))


def _spoiled(pick: random.Random, text: str) -> str:
    for _ in range(pick.randrange(1, 4)):
        at = pick.randrange(len(text) + 1)
        text = (
            text[:at] + pick.choice(_ODD) * pick.choice((1, 1, 2, 600)) + text[at + pick.choice((0, 1, 4)) :]
        )
    return text


_KEYS = list(SCHEMA)
