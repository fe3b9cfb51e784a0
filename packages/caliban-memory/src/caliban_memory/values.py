"""What memory is made of: files that were read, files that were not and why, and how much there may be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_common.digest import sha256
from caliban_common.estimate import text_tokens

Tier: TypeAlias = Literal["managed", "global", "project", "rule", "auto"]
"""Whose words these are: the administrator's, the user's, the project's (its rules among them), and those
that earlier sessions noted. They are told in this order."""

NAMES = (".caliban.md", "CLAUDE.md", "AGENTS.md")
"""The files of instructions in one directory, in the order in which they are told (guide: ancestor walk)."""

GLOBAL_NAME = "CLAUDE.md"
RULES = (".caliban", "rules")
INDEX_NAME = "MEMORY.md"

MAX_COMBINED_TOKENS = 32_000
"""Of all tiers together, where nothing else is said (guide: token budget)."""

MAX_FILE_BYTES = 1 << 20
"""Of one file: what is larger is no instruction."""

Approve: TypeAlias = Callable[[Path, Path], bool | str]
"""Whether the file (first) may import one that lies outside of what it belongs to (second, canonical).

A text is the digest (SHA-256) that the text of the second has to have for that: see `digest_of`.
"""


def digest_of(text: str) -> str:
    """What an approval is bound to: the text of a file as it is told."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def refuse_all(importer: Path, target: Path) -> bool:
    """Approve of no file from outside: nobody was asked."""
    return False


class MemoryFile(Struct, frozen=True, kw_only=True):
    """One file as the model is told it: `text` has its imports in it, without front matter.

    `imports` are the files it brought along. `cut_bytes` of it were left out for the budget. `patterns` are
    those of a rule that waits for a file to be touched.
    """

    tier: Tier
    path: Path
    text: str
    imports: tuple[Path, ...] = ()
    cut_bytes: int = 0
    patterns: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """The estimate of `caliban_common.estimate`: four bytes make one."""
        return text_tokens(self.text)


class LeftOut(Struct, frozen=True, kw_only=True):
    """A file, or an import, that the model is not told, and why.

    `matters` marks what a person should hear of at once: it was asked for and refused.
    """

    path: str
    reason: str
    matters: bool = False


class MemorySet(Struct, frozen=True, kw_only=True):
    """What a session is told from its start, in this order; rules that `wait`; and what was left out."""

    files: tuple[MemoryFile, ...] = ()
    waiting: tuple[MemoryFile, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def tokens(self) -> int:
        """The estimate for all files together."""
        return sum(file.tokens for file in self.files)


class MemoryCaps(Struct, frozen=True, kw_only=True):
    """Tokens at most: of notes, of instruction files together, and of everything."""

    auto: int | None = None
    claude_md: int | None = None
    combined: int = MAX_COMBINED_TOKENS


class MemoryOptions(Struct, frozen=True, kw_only=True):
    """Where memory is looked for.

    `workspace` is canonical: the walk goes from it up to the first directory with a `.git`, or to the root of
    the file system; without `walks` only its own CLAUDE.md counts. `config_dir` and `managed_dir` hold the
    user's and the administrator's file, `auto_dir` the notes; `None` leaves a tier out, and so does a false
    `of_project` with the project's. `excludes` are patterns as in a .gitignore. `additional` directories have
    walks of their own, behind the first. What lies outside is imported where `approve` says so.
    """

    workspace: Path
    of_project: bool = True
    config_dir: Path | None = None
    managed_dir: Path | None = None
    auto_dir: Path | None = None
    walks: bool = True
    excludes: tuple[str, ...] = ()
    additional: tuple[Path, ...] = ()
    caps: MemoryCaps = MemoryCaps()
    approve: Approve = refuse_all
