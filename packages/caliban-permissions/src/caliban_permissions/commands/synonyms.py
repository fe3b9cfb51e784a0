"""Sub-commands that go by several names: a deny of one of them means all."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from collections.abc import Iterator, Mapping

from caliban_permissions.commands.wrappers import program

_NPM = (
    "install i in ins inst insta instal isnt isnta isntal isntall add",
    "uninstall unlink remove rm r un",
    "update up upgrade udpate u",
    "ci clean-install ic install-clean isntall-clean",
    "install-test it",
    "install-ci-test cit clean-install-test sit",
    "run run-script rum urn",
    "exec x",
    "test t tst",
    "link ln",
    "config c",
    "init create innit",
    "rebuild rb",
    "dedupe ddp",
    "owner author",
    "dist-tag dist-tags",
    "adduser add-user",
    "search s se find",
    "view v info show",
    "publish",
    "unpublish",
    "version verison",
    "pack",
    "prune",
    "deprecate",
    "undeprecate",
    "access",
    "token",
    "team",
    "org ogr",
    "login",
    "logout",
    "start",
    "stop",
    "restart",
    "audit",
    "explore",
    "cache",
    "set",
    "pkg",
)
_PNPM = (
    "install i",
    "remove rm uninstall un",
    "update up upgrade",
    "run run-script",
    "test t tst",
    "link ln",
)

_SAME: Mapping[str, tuple[frozenset[str], ...]] = {
    name: tuple(frozenset(group.split()) for group in groups)
    for name, groups in {
        "npm": _NPM,
        "pnpm": _PNPM,
        "bun": ("install i", "add a", "remove rm uninstall"),
        "cargo": ("build b", "check c", "doc d", "run r", "test t", "remove rm"),
        "helm": ("uninstall un del delete", "template", "list ls", "dependency dep dependencies"),
        "brew": ("uninstall remove rm", "link ln", "update up", "list ls"),
        "git": ("add stage", "blame annotate"),
    }.items()
}
_ABBREVIATED = frozenset({"npm"})
"""Programs that take the beginning of a sub-command for it."""

_MOVED: Mapping[str, frozenset[str]] = {
    "container": frozenset(
        "run exec rm kill stop start restart create cp commit export attach pause update".split()
    ),
    "image": frozenset("push pull build save load tag import history".split()),
}
"""Sub-commands of container engines that stand behind a noun, or alone."""


def synonyms(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The command under every other name of its sub-command."""
    if len(words) < 2:
        return
    name, sub, rest = program(words[0]), words[1], words[2:]
    if name in ("docker", "podman", "nerdctl"):
        if rest and rest[0] in _MOVED.get(sub, ()):
            yield (words[0], *rest)
        yield from ((words[0], noun, sub, *rest) for noun, subs in _MOVED.items() if sub in subs)
        if (sub, *rest[:1]) == ("image", "rm"):
            yield (words[0], "rmi", *rest[1:])
        elif sub == "rmi":
            yield (words[0], "image", "rm", *rest)
        return
    for group in _SAME.get(name, ()):
        short = name in _ABBREVIATED and len(sub) > 1 and any(each.startswith(sub) for each in group)
        if sub in group or short:
            yield from ((words[0], each, *rest) for each in sorted(group) if each != sub)
