"""Commands that keep a last question in every mode: they would destroy a system, a home or the workspace."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from msgspec import Struct

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.code import commands_at
from caliban_permissions.commands.command import ShellCommand
from caliban_permissions.commands.files import operands_of
from caliban_permissions.commands.forms import Forms, text_forms
from caliban_permissions.commands.wrappers import SHELLS, WRAPPERS, program
from caliban_permissions.paths import Parts, PathContext, real_path, split
from caliban_permissions.shell import HOLE, Word

_DELETERS = frozenset(
    "rm mv find gfind fd fdfind chmod chown chgrp parallel dd tee shred cp fdisk sfdisk parted sgdisk wipefs "
    "xargs rsync tar gtar bsdtar zip trash trash-put gio".split()
)
_FORMATTERS = ("mkfs", "mke2fs", "mkswap", "wipefs", "fdisk", "sfdisk", "parted", "sgdisk", "blkdiscard")
_BLOCK_DEVICES = (
    "/dev/sd",
    "/dev/hd",
    "/dev/vd",
    "/dev/xvd",
    "/dev/nvme",
    "/dev/mmcblk",
    "/dev/disk",
    "/dev/dm-",
)
_SELECTING = frozenset(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname".split()
)
_INVERTS = frozenset("! -not -o -or ,".split())
_FD_RUNS = frozenset("-x -X --exec --exec-batch".split())
_ACTS_ON_ALL = _FD_RUNS | frozenset("-delete -exec -execdir -ok -okdir".split())
_ANYTHING = frozenset("*?./[]^$+\\()|")
_FED = frozenset({"xargs", "parallel"})
_DELETING = lazy_pattern(r"\b(?:rm|mv|find|chmod|chown|chgrp|dd|shred|mkfs|wipefs)\b")
_TAKES_AWAY = frozenset("rsync tar gtar bsdtar zip trash trash-put".split())
_REMOVES = frozenset("rm rmdir unlink shred mv truncate dd chmod chown chgrp srm wipe trash".split())
_HOME = lazy_pattern(r"\$HOME(?![A-Za-z0-9_])|\$\{HOME[^A-Za-z0-9_}][^}]*\}|\$\{HOME\}")
_HERE = lazy_pattern(
    r"\$(?:OLD)?PWD(?![A-Za-z0-9_])|\$\{(?:OLD)?PWD(?:[^A-Za-z0-9_}][^}]*)?\}|\$\(\s*pwd\b[^)]*\)|`\s*pwd\b[^`]*`"
    r"|\$\(git rev-parse --show-toplevel\)|`git rev-parse --show-toplevel`"
)
_OWN_DIRECTORY = lazy_pattern(r"^/proc/(?:self|thread-self)/cwd(?=/|$)")
_UNQUOTED = str.maketrans("", "", "'\"\\")
_DEFAULT = lazy_pattern(r"\$\{[A-Za-z_][A-Za-z0-9_]*:?[-=]([^}]*)\}")
_SAY = tuple((name,) for name in "echo printf pwd realpath readlink dirname set read".split())
_VARIABLE = lazy_pattern(r"\$([A-Za-z_][A-Za-z0-9_]*)|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_DECLARES = (("export",), ("declare",), ("local",), ("readonly",), ("typeset",))
_OTHERS_HOME = lazy_pattern(r"~[A-Za-z_][A-Za-z0-9_-]*[/*.]*")
_MAX_LOOKED_UP = 64
_MAX_HOPS = 4
_MAX_VALUE = 1_000


class Danger(Struct, frozen=True):
    """A destructive command; `certain` is false where only its target is unknown."""

    text: str
    why: str
    certain: bool


def dangers(command: ShellCommand) -> Iterator[Danger]:
    """The destructive commands in a command, under any wrapper."""
    place = command.place
    fed: str | None = ""  # neither is looked for before something deletes
    target = ""
    for text, bases in _commands(command):
        argv = tuple(text.split(" "))
        if argv[0] not in _DELETERS and not argv[0].startswith(_FORMATTERS):
            continue
        why = next(filter(None, (catastrophic(argv, place, base) for base in bases)), None)
        if why is None and argv[0] in _FED and _REMOVES.intersection(map(program, argv[1:])):
            why = fed = _fed(command) if fed == "" else fed
        if why is not None:
            yield Danger(text.replace(HOLE, "?"), why, True)
        elif _unknown_delete(argv) and (target := target or _said(command)) and any(map(_is_unknown, argv)):
            yield Danger(text.replace(HOLE, "?"), f"it may change all of {target}", True)
        elif _unknown_delete(argv):
            yield Danger(text.replace(HOLE, "?"), "what it deletes is known only when it runs", False)
    for redirect in command.redirects:
        if redirect.writes and redirect.target.text.startswith(_BLOCK_DEVICES):
            yield Danger(redirect.target.text, "it overwrites a device", True)


def catastrophic(argv: tuple[str, ...], place: PathContext, base: str) -> str | None:
    """Why running this would destroy a system, a home or the workspace, or `None`."""
    name = program(argv[0])
    if name.startswith(_FORMATTERS):
        return f"{name} overwrites a whole device"
    if name in ("dd", "tee", "shred", "cp"):
        targets = (word.removeprefix("of=") for word in argv[1:])
        device = next((target for target in targets if target.startswith(_BLOCK_DEVICES)), None)
        return None if device is None else f"it overwrites the device {device}"
    for number, root in enumerate(_roots(name, argv)):
        if _vital(root, place, base, on_disk=number < _MAX_LOOKED_UP):
            return f"it changes all of {root.replace(HOLE, '?')}"
    return None


def _roots(name: str, argv: tuple[str, ...]) -> list[str]:
    """What a command deletes, moves or changes with all that is in it."""
    if name in ("find", "gfind"):
        return _find_roots(argv) if _changes_all(argv) else []
    if name in ("fd", "fdfind"):
        return _fd_roots(argv) if _changes_all(argv) else []
    if name in _TAKES_AWAY or name == "gio":
        return _taken_away(name, argv)
    if name == "mv":
        operands = [word for _, word in operands_of(argv)]
        return operands if _into_option(argv) else operands[:-1]
    if name not in ("rm", "chmod", "chown", "chgrp"):
        return []
    recursive = any(map(_is_recursive, argv[1:]))
    if not recursive and not (name == "rm" and "--no-preserve-root" in argv):
        return []
    operands = [word for _, word in operands_of(argv)]
    return operands if name == "rm" else operands[1:]


def _commands(command: ShellCommand) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The forms of everything that may run, each with the directories it may run in."""
    for simple in command.simple_commands:
        for text in simple.forms.texts:
            yield text, simple.bases
        code = simple.forms.code
        for name in {name for text in code for name in _DELETING.findall(text)}:
            yield from ((text, simple.bases) for text in commands_at(code, name))
    for forms in (*command.other_forms, *_with_places(command)):
        for text in forms.texts:
            yield text, (command.cwd,)


def _fed(command: ShellCommand) -> str | None:
    """Why the names that one command of the line prints are all of something vital."""
    for simple in command.simple_commands:
        names = [item.body or item.target.text for item in simple.parsed.redirects if item.op[:2] == "<<"]
        argv = simple.parsed.argv
        if argv and argv[0] in ("echo", "printf"):
            names += argv[1:]
        elif argv and (program(argv[0]) == "ls" or argv[:2] == ("git", "ls-files")):
            names += [word for _, word in operands_of(argv[argv[0] == "git" :])] or ["."]
        for name in (name for given in names for name in given.split()[:_MAX_LOOKED_UP]):
            if any(_vital(name, command.place, base, on_disk=True) for base in simple.bases):
                return f"it changes all of {name.replace(HOLE, '?')}"
    return _fed_by_find(command)


def _said(command: ShellCommand) -> str:
    """Something vital that the line itself says, so that what it deletes by a variable may be that."""
    texts = [piece.raw for piece in command.line.pieces if isinstance(piece, Word)]
    for simple in command.simple_commands:
        parsed = simple.parsed
        texts += [item.body or item.target.raw for item in parsed.redirects if item.op[:2] == "<<"]
        texts += [word.raw.partition("=")[2] for word in parsed.assigns]
        texts += [match for word in parsed.words for match in _DEFAULT.findall(word.raw)]
        if parsed.argv[:1] in _SAY:
            texts += [word.raw for word in parsed.words[1:]] or ["."]
    for text in texts[:_MAX_LOOKED_UP]:
        placed = _HERE.sub(".", _HOME.sub(command.place.home, text))
        # What another command prints is no word of the line.
        for name in () if "$(" in placed or "`" in placed else re.split(r"[\s\"']+", placed):
            if name and _vital(name, command.place, command.cwd, on_disk=True):
                return name
    return ""


def _is_unknown(word: str) -> bool:
    """Whether nothing of a word is known but that it may end in `/*`."""
    return HOLE in word and set(word) <= {HOLE, "/", "*", "."}


def _fed_by_find(command: ShellCommand) -> str | None:
    for simple in command.simple_commands:
        argv = simple.parsed.argv
        if argv and program(argv[0]) in ("find", "gfind", "fd", "fdfind") and not _selects(argv):
            for root in _find_roots(argv):
                if any(_vital(root, command.place, base, on_disk=True) for base in simple.bases):
                    return f"it changes all of {root.replace(HOLE, '?')}"
    return None


def _find_roots(argv: tuple[str, ...]) -> list[str]:
    """The directories that a find expression starts from."""
    roots: list[str] = []
    for word in argv[1:]:
        if word in ("-H", "-L", "-P") or word.startswith(("-O", "-D")):
            continue
        if word.startswith(("-", "(", "!")):
            break
        roots.append(word)
    return roots or ["."]


def _fd_roots(argv: tuple[str, ...]) -> list[str]:
    """The directories that fd looks through; none where its pattern picks some files only."""
    end = next((index for index, word in enumerate(argv) if word in _FD_RUNS), len(argv))
    operands = [word for _, word in operands_of(argv[:end])]
    if any(word in ("-e", "--extension") for word in argv[:end]) or set("".join(operands[:1])) - _ANYTHING:
        return []
    return operands[1:] or ["."]


def _taken_away(name: str, argv: tuple[str, ...]) -> list[str]:
    """What a program deletes once it has it elsewhere, or because it is not elsewhere."""
    operands = [word for _, word in operands_of(argv)]
    if name in ("trash", "trash-put"):
        return operands
    if name == "gio":
        return operands[1:] if argv[1:2] == ("trash",) else []
    if name == "rsync":
        mirrors = any(word.startswith("--del") for word in argv)
        moves = any(word.startswith("--remove-s") for word in argv)
        return [*(operands[-1:] if mirrors else ()), *(operands[:-1] if moves else ())]
    if name == "zip":
        moves = any(word == "--move" or (word[:1] == "-" != word[1:2] and "m" in word) for word in argv)
        return operands[1:] if moves else []
    return operands if any(word.startswith("--remove") for word in argv) else []


def _changes_all(argv: tuple[str, ...]) -> bool:
    """Whether a find expression acts on all files that it meets, by deleting or changing them."""
    if "-delete" not in argv:
        runs = [argv[index + 1] for index, word in enumerate(argv[:-1]) if word in _ACTS_ON_ALL]
        inner = [program(word) for word in runs]
        if not any(name in _REMOVES or name in WRAPPERS or name in SHELLS or HOLE in name for name in inner):
            return False
    return not _selects(argv)


def _into_option(argv: tuple[str, ...]) -> bool:
    return any(
        (word.startswith("--t") and "--target-directory".startswith(word.partition("=")[0]))
        or (word.startswith("-") and not word.startswith("--") and "t" in word)
        for word in argv[1:]
    )


def _with_places(command: ShellCommand) -> Iterator[Forms]:
    """The forms of simple commands that name the home or the directory they run in, with it in its place."""
    values = {
        name: word.raw[len(name) + 1 :]
        for simple in command.line.simple_commands
        for word in (*simple.assigns, *(simple.words if simple.argv[:1] in _DECLARES else ()))
        if "=" in word.raw and (name := word.raw.partition("=")[0]).isidentifier()
    }
    for simple in command.simple_commands:
        if not any(mark in word.raw for word in simple.parsed.words for mark in "$`"):
            continue
        raw = [_assigned(word.raw, values) for word in simple.parsed.words]
        placed = [_HERE.sub(".", _HOME.sub(command.place.home, text)) for text in raw]
        if placed != [word.raw for word in simple.parsed.words]:
            words = (text.translate(_UNQUOTED) for text in placed)
            for base in simple.bases:
                yield text_forms(" ".join(words), base, command.place.home)


def _assigned(raw: str, values: Mapping[str, str]) -> str:
    """A word with the values that the line itself gives to variables."""
    for _ in range(_MAX_HOPS if values else 0):
        raw = _VARIABLE.sub(lambda match: values.get(match[1] or match[2], match[0])[:_MAX_VALUE], raw)
        if "$" not in raw or len(raw) > _MAX_VALUE:
            break
    return raw


def _selects(argv: tuple[str, ...]) -> bool:
    """Whether a find expression surely picks some files only: by a part of their names."""
    if _INVERTS.intersection(argv):
        return False
    if "-empty" in argv:
        return True
    values = (argv[index + 1] for index, word in enumerate(argv[:-1]) if word in _SELECTING)
    return any(set(value) - _ANYTHING for value in values)


def _unknown_delete(argv: tuple[str, ...]) -> bool:
    recursive = program(argv[0]) == "rm" and any(map(_is_recursive, argv[1:]))
    return recursive and any(HOLE in word for word in argv)


def _is_recursive(word: str) -> bool:
    if word.startswith("--"):
        return len(word) > 3 and "--recursive".startswith(word)
    return word.startswith("-") and ("r" in word or "R" in word)


def _vital(word: str, place: PathContext, base: str, *, on_disk: bool) -> bool:
    """Whether a path, trailing `/*` and the like removed, is a root that nobody deletes in passing."""
    if HOLE in word:  # an empty variable before `/*` simple commands the root
        return set(word) <= {HOLE, "/", "*", "."} and "/" in word
    if (word.startswith("~") and not word.rstrip("/*.").strip("~+-")) or _OTHERS_HOME.fullmatch(word):
        return True
    path = place.home + word[1:] if word.startswith("~/") else _OWN_DIRECTORY.sub(".", word)
    joined = posixpath.normpath(posixpath.join(base, path))
    parts = split(real_path(joined) if on_disk else joined)
    while parts and set(parts[-1]) <= set("*.?"):
        parts = parts[:-1]
    git = (*split(place.workspace), ".git")
    if len(parts) == len(git) and _reaches(parts, git):
        return True
    return len(parts) <= 1 or any(_reaches(parts, split(root)) for root in (place.home, place.workspace))


def _reaches(parts: Parts, root: Parts) -> bool:
    """Whether a path, wildcards in it read as widely as any shell does, is a root or holds it."""
    if len(parts) > len(root):
        return False
    return all(part == name or fnmatchcase(name, part) for part, name in zip(parts, root, strict=False))
