"""Git runs programs named in options, configuration and remote names: what of that stands in a command.

Everyday commands stay free: sub-commands are known by name, and an unknown one may be an alias, which the
configuration of a repository can define as any shell command.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import re
from collections.abc import Mapping

from caliban_permissions.side_effects.row import LOADS, READS, RUNS, WRITES, Evidence, whole

_KNOWN = frozenset(
    "add am apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap "
    "check-ref-format checkout cherry cherry-pick clean clone column commit count-objects describe diff "
    "diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep hash-object help init log "
    "ls-files ls-remote ls-tree merge merge-base merge-tree mv name-rev notes patch-id pack-refs prune pull "
    "push range-diff read-tree rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show "
    "show-branch show-ref sparse-checkout stash status stripspace submodule switch symbolic-ref tag "
    "update-index update-ref var verify-commit verify-pack verify-tag version whatchanged worktree "
    "write-tree commit-tree mktree mktag fetch-pack repack replace rerere annotate".split()
)
_RUNNING_SUBCOMMANDS = frozenset(
    "difftool mergetool filter-branch send-email instaweb gui citool gitk daemon http-backend shell "
    "upload-pack receive-pack cvsserver svn p4 remote-ext remote-fd credential credential-cache "
    "credential-store maintenance fsmonitor--daemon for-each-repo hook web--browse fast-import "
    "interpret-trailers imap-send request-pull quiltimport archimport cvsimport cvsexportcommit "
    "merge-one-file merge-index mergetool--lib scalar backfill".split()
)
_VALUED_GLOBALS = frozenset({"--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"})
_GLOBALS: Mapping[str, str] = {
    "-c": LOADS,
    "--config-env": LOADS,
    "--exec-path": LOADS,
    "--git-dir": "uses another repository",
    "--work-tree": "uses another repository",
    "--namespace": "uses another repository",
    "--super-prefix": "uses another repository",
    "-p": RUNS,
    "--paginate": RUNS,
}
ELSEWHERE = "works in another directory"

_LONG: Mapping[str, str] = {
    "output": WRITES,
    "output-directory": WRITES,
    "upload-pack": RUNS,
    "receive-pack": RUNS,
    "exec": RUNS,
    "ext-diff": RUNS,
    "open-files-in-pager": RUNS,
    "extcmd": RUNS,
    "template": LOADS,
    "config": LOADS,
    "unsafe-paths": WRITES,
    "reference": READS,
    "separate-git-dir": WRITES,
    "pathspec-from-file": READS,
    "edit-description": RUNS,
    "no-index": READS,
    "index-output": WRITES,
    "contents": READS,
}
_SENDING: Mapping[str, str] = dict.fromkeys("smtp-server sendmail-cmd to-cmd cc-cmd header-cmd".split(), RUNS)
"""Options of `send-email` that name programs."""
_LONG_SAFE = frozenset({"exec-path", "no-ext-diff", "re", "ref", "reflog", "refs"})
_SHORT: Mapping[str, Mapping[str, str]] = {
    "archive": {"o": WRITES},
    "format-patch": {"o": WRITES},
    "grep": {"O": RUNS, "f": READS},
    "clone": {"u": RUNS, "c": LOADS},
    "rebase": {"x": RUNS},
    "blame": {"S": READS},
    "commit": {"t": READS},
    "ls-files": {"X": READS},
}
_TAKES: Mapping[str, str] = {
    "commit": "mCcF",
    "log": "nSGL",
    "grep": "eABCmf",
    "tag": "muF",
    "checkout": "bB",
    "switch": "cC",
    "clone": "bjo",
    "stash": "m",
    "push": "o",
    "diff": "SGl",
    "show": "SG",
    "rebase": "sXC",
    "merge": "msXF",
    "branch": "u",
    "blame": "L",
    "fetch": "oj",
    "notes": "mF",
}
_WORDS: Mapping[str, Mapping[str, str]] = {
    "bisect": {"run": RUNS, "visualize": RUNS, "view": RUNS, "replay": READS},
    "submodule": {"foreach": RUNS, "add": LOADS, "set-url": LOADS},
    "remote": {"add": LOADS, "set-url": LOADS},
    "bundle": {"create": WRITES},
    "notes": {"edit": RUNS},
    "worktree": {"add": WRITES, "move": WRITES, "repair": WRITES},
    "replace": {"--edit": RUNS, "-e": RUNS},
    "help": {"-w": RUNS, "--web": RUNS, "-i": RUNS, "--info": RUNS},
    "update-index": {"--index-info": WRITES, "--fsmonitor": RUNS},
    "rebase": {"-i": RUNS, "--interactive": RUNS},
}
_EXCHANGING = frozenset(
    "clone fetch pull push ls-remote remote archive submodule fetch-pack send-pack remote-ext".split()
)
_MERGING = frozenset("merge pull rebase cherry-pick revert".split())
_STRATEGIES = frozenset("ort recursive resolve octopus ours subtree theirs".split())
_PATCH_ASKS = frozenset("--check --stat --numstat --summary".split())
_PATCH_ENDS = (("--abort",), ("--skip",), ("--quit",), ("--show-current-patch",))
PATCHES = "changes the files that a patch names"
_CONFIG_READS = frozenset(
    "--get --get-all --get-regexp --get-urlmatch --list -l list get --show-origin --show-scope --name-only "
    "--global --local --system --worktree --type --bool --int --path --null -z --default --includes "
    "--no-includes --all --fixed-value --value --regexp --show-names --bool-or-int".split()
)


def git_evidence(argv: tuple[str, ...]) -> list[Evidence]:
    """What in a git command runs, writes or loads more than its sub-command does every day."""
    items, index = _globals(argv)
    if index >= len(argv):
        return items
    sub = argv[index]
    if sub in _RUNNING_SUBCOMMANDS:
        items.append(whole(argv, index, RUNS))
    elif sub == "config":
        items += _config(argv, index)
    elif sub not in _KNOWN:
        items.append(whole(argv, index, "may be an alias for any command"))
    items += _options(argv, index)
    if sub in _EXCHANGING:
        places = range(index + 1, len(argv))
        items += [whole(argv, place, RUNS) for place in places if _remote_helper(argv[place])]
    if sub in _MERGING:
        items += _strategies(argv, index)
    if sub in ("init", "clone"):
        items += _elsewhere(argv, index)
    elif sub in ("apply", "am"):
        items += _patched(argv, index)
    return items


def _globals(argv: tuple[str, ...]) -> tuple[list[Evidence], int]:
    items: list[Evidence] = []
    index = 1
    while index < len(argv) and argv[index].startswith("-"):
        word = argv[index]
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        if name == "-C":
            items.append(whole(argv, index + (word == "-C" and index + 1 < len(argv)), ELSEWHERE))
            index += word == "-C"
        elif name in _GLOBALS and word != "--exec-path":
            items.append(Evidence(index, len(name), _GLOBALS[name], word))
            separate = word == "-c" or (name in _VALUED_GLOBALS and "=" not in word)
            if separate and index + 1 < len(argv):
                index += 1
                items.append(whole(argv, index, _GLOBALS[name]))
            elif "=" in word:
                items.append(whole(argv, index, _GLOBALS[name]))
        index += 1
    return items, index


def _options(argv: tuple[str, ...], start: int) -> list[Evidence]:
    sub = argv[start]
    short, words, takes = _SHORT.get(sub, {}), _WORDS.get(sub, {}), _TAKES.get(sub, "")
    items: list[Evidence] = []
    index = start + 1
    while index < len(argv) and argv[index] != "--":
        word = argv[index]
        if word in words:
            items.append(whole(argv, index, words[word]))
        if word.startswith("--"):
            items += _long(index, word, sub)
        elif word.startswith("-"):
            for place, letter in enumerate(word[1:], start=2):
                if short.get(letter):
                    items.append(Evidence(index, place, short[letter], word))
                if letter in takes:
                    index += place == len(word)
                    break
        index += 1
    return items


def _long(index: int, word: str, sub: str) -> list[Evidence]:
    name = word[2:].partition("=")[0]
    if not name or name in _LONG_SAFE:
        return []
    table = {**_LONG, **_SENDING} if sub == "send-email" else _LONG
    return [
        Evidence(index, len(name) + 2, why, word) for full, why in table.items() if full.startswith(name)
    ][:1]


def _config(argv: tuple[str, ...], index: int) -> list[Evidence]:
    """Reading configuration is free; anything that may write a key is not."""
    rest = argv[index + 1 :]
    asks = any(
        word in ("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l") for word in rest
    )
    verb = rest[0] if rest else ""
    unknown = [word for word in rest if word.startswith("-") and word.partition("=")[0] not in _CONFIG_READS]
    if not unknown and (asks or verb in ("get", "list")):
        return []
    operands = [word for word in rest if not word.startswith("-")]
    if not unknown and len(operands) == 1 and verb not in ("edit", "unset", "set", "remove-section"):
        return []
    return [whole(argv, len(argv) - 1, "changes the configuration")]


def _remote_helper(word: str) -> bool:
    """`ext::command` and its kin: the part before the double colon names a program."""
    word = word.partition("=")[2] if word.startswith("--") else word
    scheme, colons, _ = word.partition("::")
    return bool(colons) and scheme.replace("-", "").isalnum()


def _strategies(argv: tuple[str, ...], start: int) -> list[Evidence]:
    """A strategy that git does not have is a program `git-merge-NAME`."""
    items = []
    for index in range(start + 1, len(argv)):
        word = argv[index]
        name, _, value = word.partition("=")
        long = len(name) > 4 and ("--strategy".startswith(name) and name != "--strategy-option")
        short = argv[start] in ("merge", "pull", "rebase") and re.match(r"-[a-zA-Z]*s", word) is not None
        if not long and not short:
            continue
        glued = value if long else word.partition("s")[2]
        place = index if glued or index + 1 == len(argv) else index + 1
        if (glued or argv[place]) not in _STRATEGIES:
            items.append(whole(argv, place, RUNS))
    return items


def _elsewhere(argv: tuple[str, ...], index: int) -> list[Evidence]:
    """Whatever may be the directory of `init`, `clone` and `worktree`; one in the workspace is none."""
    return [
        whole(argv, place, ELSEWHERE)
        for place in range(index + 1, len(argv))
        if not argv[place].startswith("-") and ":" not in argv[place]
    ]


def _patched(argv: tuple[str, ...], index: int) -> list[Evidence]:
    """A patch says itself which files it changes."""
    asks = any(word in _PATCH_ASKS for word in argv[index + 1 :]) and "--apply" not in argv
    return [] if asks or argv[index + 1 : index + 2] in _PATCH_ENDS else [whole(argv, index, PATCHES)]
