"""What looks like a secret taken out of text: a second net behind the values that are known.

Credentials that nobody told us of stand in commands. The patterns are wide on purpose: a log that hides too
much of an argument is still a log.
"""

from __future__ import annotations

import re
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_common.mask import MASK

_VALUE: Final = r"""[^\s"'\\,;&|<>(){}\[\]]"""
_NAMED: Final = (
    r"(?i)((?:[a-z0-9]{1,20}[_.-]){0,6}(?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|passwd)"
    rf"""(?:[_.-][a-z0-9]{{1,20}}){{0,4}}\\?["']?\s{{0,4}}[=:]\s{{0,4}}\\?["']?){_VALUE}{{6,}}"""
)
_SECRETS: Final = (
    lazy_pattern(
        rf"(?i)(\b(?:authorization\s{{0,4}}:\s{{0,4}}(?:[a-z]{{1,20}}\s{{1,4}})?|bearer\s{{1,4}})){_VALUE}{{8,}}"
    ),
    lazy_pattern(_NAMED),
    lazy_pattern(r"([a-zA-Z][a-zA-Z0-9+.-]{0,20}://)[^\s/@\"'\\]{1,200}(?=@)"),
    lazy_pattern(
        r"()\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"
        r"|\bglpat-[\w-]{16,}|\bxox[a-z]-[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}|\bAIza[\w-]{30,}"
        r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{20,}"
    ),
    lazy_pattern(r"()-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:.*?-----END [A-Z ]{0,40}PRIVATE KEY-----|.*)"),
)


def redacted(text: str) -> str:
    """`text` without what looks like a key, a token, a password or a private key."""
    for pattern in _SECRETS:
        text = pattern.sub(_masked, text)
    return text


def _masked(match: re.Match[str]) -> str:
    return (match[1] or "") + MASK
