"""A first file of instructions, made from what lies in a project. Nothing of the project is run."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_common.text import one_line

MAX_BYTES: Final = 256 * 1024
MAX_RULES_CHARS: Final = 8000
MAX_ITEMS: Final = 12
OTHERS: Final = (
    "AGENTS.md",
    "CLAUDE.md",
    ".cursorrules",
    ".windsurfrules",
    ".github/copilot-instructions.md",
)
"""What other tools are told, most general first."""

_TARGET = r"(?m)^([A-Za-z][\w.-]*)\s*:(?![=:])"
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "Cargo.toml": ("cargo build", "cargo test"),
    "go.mod": ("go build ./...", "go test ./..."),
    "pom.xml": ("mvn package", "mvn test"),
    "build.gradle": ("gradle build", "gradle test"),
    "CMakeLists.txt": ("cmake -B build", "make -C build"),
    "Gemfile": ("bundle install",),
}


class InstructionDraft(Struct, frozen=True, kw_only=True):
    """A draft, and the files that it was made from, as paths below the project."""

    text: str
    sources: tuple[str, ...]


def make_draft(root: Path) -> InstructionDraft:
    """The draft for the project in `root`; a project without anything to go by gets headings to fill in."""
    sources: list[str] = []
    parts = [f"# {one_line(root.name) or 'Project'}", *_about(root, sources)]
    commands = list(_commands(root, sources))
    lines = "\n".join(f"- `{one_line(command, max_chars=200)}`" for command in commands)
    parts += ["## Commands", lines or "- how to build, test and check: say it here"]
    layout = _layout(root)
    if layout:
        parts += ["## Layout", "\n".join(f"- `{name}/`" for name in layout)]
    for name in OTHERS:
        text = _text(root / name)
        if text:
            sources.append(name)
            parts += [f"## From {name}", text.strip()[:MAX_RULES_CHARS]]
    parts += ["## Conventions", "- what a newcomer would get wrong: say it here"]
    return InstructionDraft(text="\n\n".join(parts) + "\n", sources=tuple(sources))


def _about(root: Path, sources: list[str]) -> Iterator[str]:
    """The first paragraph of the README."""
    for name in ("README.md", "README.rst", "README.txt", "README"):
        text = _text(root / name)
        if not text:
            continue
        sources.append(name)
        for paragraph in re.split(r"\n\s*\n", text):
            words = " ".join(paragraph.split())
            if words and words[0] not in "#<![|=-*`.":
                yield one_line(words, max_chars=600)
                return


def _commands(root: Path, sources: list[str]) -> Iterator[str]:
    package = _table(root / "package.json")
    if package is not None:
        sources.append("package.json")
        scripts = package.get("scripts")
        names = list(scripts) if isinstance(scripts, dict) else []
        yield from (f"npm run {name}" for name in names[:MAX_ITEMS])
    project = _table(root / "pyproject.toml")
    if project is not None:
        sources.append("pyproject.toml")
        yield "uv sync" if (root / "uv.lock").exists() else "pip install -e ."
        if "pytest" in json.dumps(project, default=str):
            yield "pytest"
    for name, commands in _KINDS.items():
        if (root / name).is_file():
            sources.append(name)
            yield from commands
    for name, program in (("Makefile", "make"), ("justfile", "just")):
        text = _text(root / name)
        if text:
            sources.append(name)
            targets = dict.fromkeys(re.findall(_TARGET, text))
            yield from (f"{program} {target}" for target in list(targets)[:MAX_ITEMS])


def _layout(root: Path) -> tuple[str, ...]:
    try:
        names = sorted(
            entry.name for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith(".")
        )
    except OSError:
        return ()
    skipped = ("node_modules", "target", "dist", "build", "venv", "__pycache__")
    return tuple(one_line(name, max_chars=80) for name in names if name not in skipped)[: 2 * MAX_ITEMS]


def _table(path: Path) -> Mapping[str, Any] | None:
    text = _text(path)
    if not text:
        return None
    try:
        value = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(path: Path) -> str:
    """The text of a regular file of the project; empty for what is none."""
    try:
        if path.is_symlink():
            return ""
        return decode_text(read_regular(path, max_bytes=MAX_BYTES)).replace("\r\n", "\n")
    except (CalibanError, OSError):
        return ""
