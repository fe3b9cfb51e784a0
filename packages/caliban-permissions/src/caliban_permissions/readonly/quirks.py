"""Programs of the table whose words mean more than their options say."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from caliban_common.lazy import lazy_pattern
from caliban_permissions.commands.wrappers import inner_start
from caliban_permissions.readonly.options import KnownArguments, OptionGrammar, read_arguments
from caliban_permissions.readonly.reads import DEVICES, Reads, Tree, plain_globs
from caliban_permissions.shell import HOLE

_WRAPPERS: Mapping[str, OptionGrammar] = {
    **dict.fromkeys(
        ("timeout", "gtimeout"),
        OptionGrammar("v", "ks", "foreground preserve-status verbose", "kill-after signal", "text", most=1),
    ),
    "nice": OptionGrammar("", "n", "", "adjustment", "none", numbers=True),
    "time": OptionGrammar("pvl", "f", "portability verbose", "format", "none"),
    "command": OptionGrammar("p", operands="none"),
}
"""Programs that run another one and change nothing that it does, with options that write nothing."""

_CHARACTER_SET = lazy_pattern(r"[A-Za-z0-9_.:+-]*(?://[A-Za-z,]*)*")
_ZIP_ENDINGS = (".zip", ".ZIP")
_GZIP_ENDINGS = (".gz", ".z", "-gz", ".Z", "-z", "_z", ".tgz", ".taz")
_BRACES = lazy_pattern(r"([^{}]*)\{([^{}]*)\}([^{}]*)")
TYPES: Mapping[str, str] = {
    "py": "*.py *.pyi",
    "python": "*.py *.pyi",
    "js": "*.js *.jsx *.vue *.cjs *.mjs",
    "ts": "*.ts *.tsx *.cts *.mts",
    "typescript": "*.ts *.tsx *.cts *.mts",
    "rust": "*.rs",
    "go": "*.go",
    "java": "*.java *.jsp *.jspx *.properties",
    "kotlin": "*.kt *.kts",
    "swift": "*.swift",
    "c": "*.c *.c.in *.h *.h.in *.H *.cats",
    "cpp": "*.C *.cc *.cpp *.cxx *.c++ *.h *.H *.hh *.hpp *.hxx *.h++ *.inl *.in",
    "cs": "*.cs",
    "css": "*.css *.scss",
    "html": "*.htm *.html *.ejs",
    "md": "*.markdown *.md *.mdown *.mdwn *.mkd *.mkdn *.mdx",
    "markdown": "*.markdown *.md *.mdown *.mdwn *.mkd *.mkdn *.mdx",
    "yaml": "*.yaml *.yml",
    "json": "*.json *.sarif composer.lock",
    "toml": "*.toml Cargo.lock",
    "txt": "*.txt",
    "sql": "*.sql *.psql",
    "lua": "*.lua",
}
"""The files of the types that are searched every day: those of a type are looked at even where hidden."""


def runs_plainly(argv: tuple[str, ...]) -> int | None:
    """Where the program begins that a wrapper runs; `None` when the wrapper may do more than run it."""
    grammar = _WRAPPERS[argv[0].rpartition("/")[2]]
    start = inner_start(argv)
    if start is None or any(HOLE in word for word in argv[:start]):
        return None
    return start if read_arguments(argv[1:start], grammar) is not None else None


def quirk(name: str, arguments: KnownArguments, reads: Reads) -> Reads | None:
    """What a program of the table looks at; `None` where a word of it means more than it seems to."""
    words = (*arguments.operands, *(value for _, value in arguments.values))
    match name:
        case "strings" if any(word.startswith("@") for word in words):
            return None  # a file of further arguments
        case "tput" if {"init", "reset"} & {*words}:
            return None  # a program of the description of the terminal
        case "iconv" if not all(_CHARACTER_SET.fullmatch(value) for _, value in arguments.values):
            return None  # a file that describes a character set
        case "ls" if {"L", "dereference"} & arguments.options and {"R", "recursive"} & arguments.options:
            return None  # directories that links lead to
        case "df":
            return replace(reads, places=tuple(place for place in reads.places if place != "/"))
        case "zipinfo":
            return with_endings(reads, _ZIP_ENDINGS)
        case "zcat":
            return with_endings(reads, _GZIP_ENDINGS)
        case "diff":
            # A directory is read file by file, and links in it are followed.
            named = (*arguments.operands, *arguments.late)
            trees = (Tree(file, links=True, optional=True) for file in named if file not in DEVICES)
            return Reads(trees=tuple(trees))
    return reads


def with_endings(reads: Reads, endings: tuple[str, ...] = _ZIP_ENDINGS) -> Reads | None:
    """Reads of an archive, of which the program looks for longer names and, for some, expands wildcards."""
    if endings is _ZIP_ENDINGS and not plain_globs(reads.files, wildcards=False):
        return None
    longer = (file + ending for file in reads.files if file != "-" for ending in endings)
    return replace(reads, files=(*reads.files, *longer))


def readmitted(arguments: KnownArguments) -> tuple[str, ...] | None:
    """The globs of the files that `rg` looks at even where hidden; `None` for none, empty for any.

    A glob or a type that names a hidden file takes it in, and lets no other file be searched.
    """
    globs = [value for name, value in arguments.values if name in ("g", "glob") and value[:1] != "!"]
    anyhow = [value for name, value in arguments.values if name == "iglob" and value[:1] != "!"]
    types = [value for name, value in arguments.values if name in ("t", "type")]
    if anyhow or (globs and not types):
        names = tuple(name for glob in globs for name in alternatives(glob.rpartition("/")[2]))
        return names if not anyhow and plain_globs(names) and all(names) else ()
    if globs:
        return ()
    if types:
        return tuple(" ".join(TYPES[name] for name in types).split()) if set(types) <= set(TYPES) else ()
    return None


def alternatives(glob: str) -> tuple[str, ...]:
    """The globs that one with a list in braces stands for; an odd one for anything."""
    if "{" not in glob and "}" not in glob:
        return (glob,)
    braces = _BRACES.fullmatch(glob)
    if braces is None:
        return ("*",)
    head, inner, tail = braces.groups()
    return tuple(head + choice + tail for choice in inner.split(","))
