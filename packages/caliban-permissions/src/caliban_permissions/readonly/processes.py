"""`ps`, in the spellings of which the meaning is known.

None that shows the environment of a process, in which keys may stand: `-E` does, and so does `e` without a
dash. With one it means every process, but only as long as all words go together: where they do not, `ps` of
Linux reads them all again without the dash. So a line with `-e` is made of few words that do.
"""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

from caliban_common.lazy import lazy_pattern
from caliban_permissions.readonly.reads import NOTHING, Reads

_COLUMNS = r"[a-z%]+(?:=[\w ]*)?(?:,[a-z%]+(?:=[\w ]*)?)*"
_PS = lazy_pattern(
    r"-?[auxwlfjT]+|-[aAdefFjlLNTwH]+|-?[0-9]+(?:,[0-9]+)*|--(?:forest|no-headers|headers)|--sort=[-+,\w%]+"
    r"|--(?:pid|ppid)=[0-9,]+"
)
_PS_TAKES = ("-p", "-C", "-u", "-U", "-g", "--pid", "--ppid", "--sort")
_NAME = lazy_pattern(r"[-+,.\w%]+")
_FORMAT = lazy_pattern(r"[auxfj]*o|-[aAdefjlH]*o")
_FORMATS = lazy_pattern(_COLUMNS)
_EVERY = lazy_pattern(
    r"-a?e[fF]?[HLw]*|-A?e[fFlj]?[w]*|-ly?e|-fe|--(?:forest|no-headers|headers)|-?w+|-[eA]+"
)
_EVERY_FORMAT = ("-eo", "-o")
_KNOWN = frozenset(
    "pid ppid pgid pgrp sid sess tid spid lwp nlwp uid euid ruid gid egid rgid user euser ruser group egroup "
    "rgroup uname comm cmd command args ucmd ucomm pcpu %cpu pmem %mem c cp rss rssize rsz vsz vsize sz size "
    "time cputime etime etimes start lstart stime start_time bsdstart stat state s tty tt tname ni nice pri "
    "psr wchan cls policy thcount maj_flt min_flt majflt minflt flag f label cgroup unit slice".split()
)
"""Columns that every `ps` of Linux knows: an unknown one makes it read the line again."""


def ps_reads(words: tuple[str, ...]) -> Reads | None:
    """`ps` that shows no environment."""
    every = any(word.startswith("-") and not word.startswith("--") and "e" in word for word in words)
    at = 0
    while at < len(words):
        word = words[at]
        if every:
            if word in _EVERY_FORMAT:
                at += 1
                if at == len(words) or not _are_known(words[at]):
                    return None
            elif not _EVERY.fullmatch(word) and not (word.startswith("--sort=") and _are_known(word[7:])):
                return None
        elif word in _PS_TAKES or _FORMAT.fullmatch(word):
            at += 1
            shape = _NAME if word in _PS_TAKES else _FORMATS
            if at == len(words) or not shape.fullmatch(words[at]) or "env" in words[at]:
                return None
        elif not _PS.fullmatch(word):
            return None
        at += 1
    return NOTHING


def _are_known(columns: str) -> bool:
    """Whether a list of columns, headings and signs of an order left out, has no unknown one in it."""
    return all(column.partition("=")[0].lstrip("+-") in _KNOWN for column in columns.split(","))
