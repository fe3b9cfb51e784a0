"""`ps`, in the spellings of which the meaning is known.

None that shows the environment of a process, in which keys may stand: `-E` does, and `e` without a dash, or
behind one together with letters that are no options there: `ps -axeo` is read as `ps axeo`.
"""

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


def ps_reads(words: tuple[str, ...]) -> Reads | None:
    """`ps` that shows no environment."""
    at = 0
    while at < len(words):
        word = words[at]
        if word in _PS_TAKES or _FORMAT.fullmatch(word):
            at += 1
            shape = _NAME if word in _PS_TAKES else _FORMATS
            if at == len(words) or not shape.fullmatch(words[at]) or "env" in words[at]:
                return None
        elif not _PS.fullmatch(word):
            return None
        at += 1
    return NOTHING
