"""A rule made ready for matching: its globs compiled once per engine, each dialect when first needed."""

from __future__ import annotations

import posixpath
from copy import copy
from datetime import datetime

from caliban_common.lazy import cached_property, lazy_pattern
from caliban_permissions.characters import fold
from caliban_permissions.names import SHELL_COMMAND
from caliban_permissions.paths import Parts, PathContext, folded, split
from caliban_permissions.rules.glob import (
    PathGlob,
    TextGlob,
    compile_path,
    compile_text,
    escaped,
    literal_text,
)
from caliban_permissions.rules.pattern import (
    Anywhere,
    ArgumentGlob,
    Bare,
    KeyPairs,
    Pattern,
    Prefix,
    parse_pattern,
)
from caliban_permissions.rules.rule import Rule, Scope
from caliban_permissions.rules.url import UrlGlob, compile_url

_BLANKS = lazy_pattern(r"[ \t]+")
_DRIVE = lazy_pattern(r"[A-Za-z]:[\\/]")


class CompiledRule:
    """One rule of an engine. `order` is its place in the order of evaluation.

    Its globs take 75 µs to compile and 2 µs to match: they are made once, when they are first asked.
    """

    def __init__(self, rule: Rule, scope: Scope, order: int, place: PathContext) -> None:
        self.rule = rule
        self.scope: Scope = scope
        self.order = order
        self.place = place
        self.pattern: Pattern = parse_pattern(rule.pattern)
        self.action = rule.action
        self.bare: bool = isinstance(self.pattern.argument, Bare) and self.pattern.problem is None

    def at(self, order: int) -> CompiledRule:
        """The same rule in another place of a chain, with what of it was compiled."""
        other = copy(self)
        other.order = order
        return other

    def in_force(self, now: datetime) -> bool:
        """Whether the rule counts at `now`."""
        return self.rule.expires_at is None or self.rule.in_force(now)

    def names(self, tool: str) -> bool:
        """Whether the rule is about this tool; a deny or ask of an MCP server is about all its tools."""
        if self.pattern.names_tool(tool):
            return True
        return self.action != "allow" and self.pattern.names_server(tool)

    @cached_property
    def spec(self) -> str:
        """The text of the argument part, without `~` and `:*`; empty for a bare tool."""
        argument = self.pattern.argument
        return "" if isinstance(argument, Bare) else argument.text

    @cached_property
    def literal(self) -> str | None:
        """The one text that a rule without wildcards stands for."""
        if not isinstance(self.pattern.argument, ArgumentGlob):
            return None
        return literal_text(self.spec)

    @cached_property
    def _spelled(self) -> tuple[str, ...]:
        readable = self.pattern.problem is None and self.literal is not None
        return (self.spec, self.literal or "") if readable else ()

    @cached_property
    def command_globs(self) -> tuple[TextGlob, ...]:
        """What a shell command must match to be covered. A final ` *` covers the bare program as well."""
        return tuple(compile_text(text) for text in self._command_texts())

    @cached_property
    def start_glob(self) -> TextGlob:
        """What a leaf must begin with to be covered by `~glob`.

        Only a wrapper could stand before it, and an allow rule does not reach through wrappers.
        """
        return compile_text(self.spec.rstrip("*") + "*")

    @cached_property
    def wide_globs(self) -> tuple[TextGlob, ...]:
        """What a shell command must match to be denied or asked about: blanks, paths and `~` made equal."""
        texts: dict[str, None] = {}
        for text in self._command_texts():
            plain = _BLANKS.sub(" ", text).strip(" ") or text
            variants = [plain]
            if not isinstance(self.pattern.argument, Anywhere):
                variants.append(plain.removesuffix(" *"))
            head, blank, tail = plain.partition(" ")
            if "/" in head:
                variants.append(posixpath.basename(head) + blank + tail)
            if "~/" in plain:
                variants.append(plain.replace("~/", self.place.home + "/"))
            texts.update(dict.fromkeys(variant for variant in variants if variant))
        return tuple(compile_text(text) for text in texts)

    @cached_property
    def keys(self) -> tuple[tuple[tuple[str, ...], TextGlob], ...]:
        """The named fields and their globs."""
        argument = self.pattern.argument
        pairs = argument.pairs if isinstance(argument, KeyPairs) else ()
        return tuple((path, compile_text(glob)) for path, glob in pairs)

    @cached_property
    def text_glob(self) -> TextGlob:
        """The argument part as a glob over plain text."""
        return compile_text(self.spec)

    @cached_property
    def url_glob(self) -> UrlGlob:
        """The argument part as a URL pattern."""
        return compile_url(self.spec)

    @cached_property
    def path_globs(self) -> tuple[PathGlob, ...]:
        """What a canonical path must match to be covered; empty when the pattern climbs out of its anchor."""
        return _compiled(self._anchored(wide=False))

    @cached_property
    def wide_paths(self) -> tuple[PathGlob, ...]:
        """What a name of a path must match to be denied or asked about."""
        return _compiled(self._anchored(wide=True))

    @cached_property
    def folded_paths(self) -> tuple[PathGlob, ...]:
        """`wide_paths` for names as a case-insensitive file system compares them."""
        return _compiled([_folded_pattern(parts) for parts in self._anchored(wide=True)])

    def spells_out(self, command: str) -> bool:
        """Whether the rule has no wildcard and is this whole command, character for character."""
        return command in self._spelled

    def may_match_in(self, text: str) -> bool:
        """Whether the rule could match a command of which every form stands in `text`."""
        match self.pattern.argument:
            case Bare():
                return True
            case Anywhere() if self.action == "allow":
                return self.start_glob.may_match_in(text)
            case _:
                globs = self.command_globs if self.action == "allow" else self.wide_globs
                return self.pattern.problem is not None or any(glob.may_match_in(text) for glob in globs)

    def may_begin(self, text: str, start: int) -> bool:
        """Whether a command that begins with `text[start:]` and goes on unknown could match a wide glob."""
        size = len(text) - start
        return any(
            text.startswith(glob.prefix, start)
            or (size < len(glob.prefix) and glob.prefix.startswith(text[start:]))
            for glob in self.wide_globs
        )

    def _command_texts(self) -> tuple[str, ...]:
        match self.pattern.argument:
            case Prefix(text):
                return (text, text + " *")
            case KeyPairs(_, pairs):
                return tuple(glob for path, glob in pairs if path == (SHELL_COMMAND,)) or ("*",)
            case ArgumentGlob(text) if text.endswith(" *"):
                return (text, text[:-2])
            case ArgumentGlob(text) | Anywhere(text):
                return (text,)
            case Bare():
                return ("*",)

    def _anchored(self, *, wide: bool) -> list[Parts]:
        """The pattern as components of absolute paths, one entry for each place it may be anchored."""
        text = self.spec
        place = self.place
        if text.startswith("//"):
            return self._absolute(text[1:])
        if text == "~" or text.startswith("~/"):
            return _normal([(*_literal(place.home), *_pieces(text[2:]))])
        if text.startswith("./"):
            bases = dict.fromkeys((place.workspace, place.cwd) if wide else (place.workspace,))
            return _normal([(*_literal(base), *_pieces(text[2:])) for base in bases])
        if text.startswith("/") or _DRIVE.match(text):
            return self._absolute(text)
        pieces = _pieces(text)
        anchored = [(*_literal(root), "**", *pieces) for root in (place.workspace, *place.roots)]
        if wide and pieces[:1] == ("**",):
            anchored.append(pieces)
        return anchored if ".." not in pieces or wide else []

    def _absolute(self, text: str) -> list[Parts]:
        pieces = _pieces(text)
        patterns = [pieces]
        for given, real in self.place.aliases:
            top = split(given)
            if pieces[: len(top)] == top:
                patterns.append((*_literal(real), *pieces[len(top) :]))
        patterns += _system_alias(pieces)
        return _normal(patterns)


def _pieces(text: str) -> Parts:
    if _DRIVE.match(text):
        text = text[0].upper() + text[1:].replace("\\", "/")
    return tuple(part for part in text.split("/") if part not in ("", "."))


def _normal(patterns: list[Parts]) -> list[Parts]:
    """Resolve `..` in the literal beginning of a pattern; drop a pattern that climbs through a wildcard."""
    resolved = []
    for parts in patterns:
        kept: list[str] = []
        for part in parts:
            if part != "..":
                kept.append(part)
            elif kept and not set(kept[-1]) & set("*?"):
                kept.pop()
            else:
                break
        else:
            resolved.append(tuple(kept))
    return resolved


def _system_alias(pieces: Parts) -> list[Parts]:
    """`/tmp/x` as `/private/tmp/x` where the first component is a link that only root can change."""
    if not pieces or set(pieces[0]) & set("*?[{"):
        return []
    top = "/" + pieces[0]
    real = posixpath.realpath(top)
    return [] if real == top else [(*_literal(real), *pieces[1:])]


def _folded_pattern(parts: Parts) -> Parts:
    return tuple(
        part if set(part) <= set("*?") else fold(part) if set(part) & set("*?") else folded((part,))[0]
        for part in parts
    )


def _compiled(patterns: list[Parts]) -> tuple[PathGlob, ...]:
    return tuple(compile_path(parts) for parts in dict.fromkeys(patterns))


def _literal(path: str) -> Parts:
    """The components of a real path as a pattern that means only them."""
    return tuple(escaped(part) for part in split(path))
