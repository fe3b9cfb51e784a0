"""Every way in which the words of a command may name its program and its paths."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath

from caliban_common.lazy import lazy_pattern
from caliban_permissions.paths import real_path
from caliban_permissions.shell import HOLE

_GNU = frozenset(
    "rm rmdir unlink mv cp ln install dd chmod chown chgrp touch tee truncate shred mkdir mkfifo mknod "
    "cat head tail ls sort cut tr wc find kill env timeout du df stat readlink realpath base64 split "
    "csplit date".split()
)
"""Programs that go by the same name behind a `g` where they are not the system's own."""

_VERSIONED = lazy_pattern(
    r"(pip|perl|ruby|php|lua|node|gcc|g\+\+|clang|clang\+\+)[-.]?[0-9][0-9.]*$|(python[0-9]|pypy[0-9])\.[0-9.]+$"
)


def spellings(words: tuple[str, ...], base: str, home: str) -> list[str]:
    """The command with its program by every name, and with its paths made plain."""
    head, tail = words[0], words[1:]
    heads = {head: None, posixpath.basename(head.rstrip("/")): None}
    if head[:1] == "g" and head[1:] in _GNU:
        heads[head[1:]] = None
    versioned = _VERSIONED.match(posixpath.basename(head))
    if versioned is not None:
        heads[versioned.group(1) or versioned.group(2)] = None
    if posixpath.basename(head).startswith("git-"):
        heads["git " + posixpath.basename(head)[4:]] = None
    if "/" in head and HOLE not in head:
        heads[posixpath.basename(real_path(posixpath.join(base, _at_home(head, home))))] = None
    for spelled in tuple(heads):
        heads[spelled.lower()] = None
        heads[spelled.lower().removesuffix(".exe")] = None
    texts = [" ".join((spelled, *tail)) for spelled in heads if spelled]
    if any("/" in word for word in tail):
        plain = tuple(_plain_path(word, home) for word in tail)
        if plain != tail:
            texts += [" ".join((spelled, *plain)) for spelled in heads if spelled]
    return texts


def _plain_path(word: str, home: str) -> str:
    """An argument that is a path, without detours."""
    if "/" not in word or word.startswith("-") or "://" in word:
        return word
    word = _at_home(word, home)
    return posixpath.normpath(word) if "//" in word or "/." in word else word


def _at_home(word: str, home: str) -> str:
    return home + word[1:] if word.startswith("~/") else word
