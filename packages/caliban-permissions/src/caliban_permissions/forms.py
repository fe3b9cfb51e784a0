"""All the ways in which a simple command can be spelled: what deny and ask rules are compared with.

The command itself, its program without the directory, every command that a wrapper in it may run, and every
command in a script that it hands to a shell.
"""

from __future__ import annotations

import os
import posixpath
from collections import deque
from typing import NamedTuple

from caliban_permissions.shell import (
    HOLE,
    Leaf,
    Opacity,
    Redirect,
    loose_commands,
    names_a_loader,
    parse_line,
)
from caliban_permissions.wrappers import (
    SHELLS,
    WRAPPERS,
    inner_commands,
    program,
    reads_commands,
    scripts,
    without_leading_options,
)

_REBINDS = frozenset({"hash", "alias", "enable", "bind"})
_DECLARES = frozenset({"export", "declare", "typeset", "readonly", "local"})
_MAX_FORMS = 128
_MAX_INNER = 64
_MAX_DEPTH = 6


class Forms(NamedTuple):
    """The texts; `overflow` when there were too many to list, so that anything may be among them."""

    texts: tuple[str, ...]
    overflow: bool = False


def command_forms(argv: tuple[str, ...], base: str, home: str, redirects: tuple[Redirect, ...] = ()) -> Forms:
    """The forms of one command, nested scripts included, at most a few hundred texts."""
    texts: dict[str, None] = {}
    seen: set[tuple[str, ...]] = set()
    queue: deque[tuple[tuple[str, ...], int]] = deque([(argv, 0)])
    for redirect in redirects:
        script = redirect.target.text if redirect.op == "<<<" else redirect.body
        if script is not None and argv and program(argv[0]) in SHELLS | WRAPPERS:
            queue.extend((inner, 1) for inner in _commands(script))
    while queue:
        words, depth = queue.popleft()
        if not words or words in seen:
            continue
        if len(seen) >= _MAX_FORMS or depth > _MAX_DEPTH:
            return Forms(tuple(texts), overflow=True)
        seen.add(words)
        for form in (words, *without_leading_options(words)):
            texts.update(dict.fromkeys(_spellings(form, base, home)))
        name = program(words[0])
        if name in WRAPPERS or name in SHELLS:
            inner = inner_commands(words, _MAX_INNER + 1)
            if len(inner) > _MAX_INNER:
                return Forms(tuple(texts), overflow=True)
            queue.extend((command, depth + (name in SHELLS)) for command in inner)
            queue.extend((command, depth + 1) for script in scripts(words) for command in _commands(script))
    return Forms(tuple(texts))


def fed_from_outside(leaf: Leaf) -> Opacity | None:
    """The doubt about a leaf that takes commands or arguments from its input."""
    argv = leaf.argv
    if not argv:
        return None
    given = any(redirect.op == "<<<" or redirect.body is not None for redirect in leaf.redirects)
    if reads_commands(argv) and not given:
        return Opacity("a shell that reads its commands", leaf.raw, runs=True)
    if argv[0] in _REBINDS or (argv[0] in _DECLARES and any(names_a_loader(word) for word in argv[1:])):
        return Opacity("a change of what names mean", leaf.raw, runs=True)
    if program(argv[0]) not in ("xargs", "gxargs", "parallel"):
        return None
    replaces = any(word.startswith(("-I", "-i", "--replace")) or "{" in word for word in argv[1:])
    shells = any(program(word) in SHELLS for word in argv[1:])
    return Opacity("arguments from another command", leaf.raw, runs=replaces or shells)


def _commands(script: str) -> list[tuple[str, ...]]:
    line = parse_line(script)
    found = [leaf.argv for leaf in line.leaves if leaf.words]
    if not line.clear:
        found += (tuple(command.split(" ")) for command in loose_commands(script)[:_MAX_FORMS])
    return found


def _spellings(words: tuple[str, ...], base: str, home: str) -> list[str]:
    head, tail = words[0], words[1:]
    heads = {head: None, posixpath.basename(head.rstrip("/")): None}
    if "/" in head and HOLE not in head:
        heads[posixpath.basename(os.path.realpath(posixpath.join(base, _at_home(head, home))))] = None
    for spelled in tuple(heads):
        heads[spelled.lower()] = None
        heads[spelled.lower().removesuffix(".exe")] = None
    found = [" ".join((spelled, *tail)) for spelled in heads if spelled]
    if any("/" in word for word in tail):
        plain = tuple(_plain_path(word, home) for word in tail)
        if plain != tail:
            found += [" ".join((spelled, *plain)) for spelled in heads if spelled]
    return found


def _plain_path(word: str, home: str) -> str:
    """An argument that is a path, without detours."""
    if "/" not in word or word.startswith("-") or "://" in word:
        return word
    word = _at_home(word, home)
    return posixpath.normpath(word) if "//" in word or "/." in word else word


def _at_home(word: str, home: str) -> str:
    return home + word[1:] if word.startswith("~/") else word
