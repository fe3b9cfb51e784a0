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
    r"(?i)((?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|passwd)"
    rf"""(?:[_.-][a-z0-9]{{1,20}}){{0,4}}\\?["']?\s{{0,4}}[=:]\s{{0,4}}\\?["']?){_VALUE}{{6,}}"""
)
_OPTION: Final = (
    r"(?i)((?<![A-Za-z0-9])(?:--?(?:[a-z0-9]{1,20}-){0,4}|(?:[a-z0-9]{1,20}_){1,4})"
    r"(?:api-?key|access_?-?key|secret|token|passw(?:or)?d|passphrase|pat)"
    r"(?:-(?!file|path|dir|name|type|ttl|url)[a-z0-9]{1,20}){0,2}"
    rf"""\s{{1,4}}\\?["']?)(?!-){_VALUE}{{6,}}"""
)
_LOGIN: Final = (
    r"""(?i)((?:\s-u\s{0,4}|--user[=\s]\s{0,4})\\?["']?[^\s"'\\:/]{1,64}:)(?!//)"""
    rf"{_VALUE}{{6,}}"
)
_SHORT: Final = (
    rf"""(?i)(\b(?:sshpass\s{{1,4}}-p\s{{0,4}}|login\s(?:[^|;&\n]{{0,200}}\s)?-p\s{{1,4}}"""
    rf"""|(?:mysql|mysqldump|mysqladmin|mariadb)\s(?:[^|;&\n]{{0,200}}\s)?-p)\\?["']?){_VALUE}{{6,}}"""
)
_HEADER: Final = r"(?i)(\b(?:authorization\s{0,4}:\s{0,4}(?:[a-z]{1,20}\s{1,4})?|bearer\s{1,4}))"
_KINDS: Final = (
    (("authorization", "bearer"), lazy_pattern(rf"{_HEADER}{_VALUE}{{8,}}")),
    (("key", "secret", "token", "passw"), lazy_pattern(_NAMED)),
    (("key", "secret", "token", "passw", "passphrase", "-pat"), lazy_pattern(_OPTION)),
    (("-u", "--user"), lazy_pattern(_LOGIN)),
    (("sshpass", "login", "mysql", "mariadb"), lazy_pattern(_SHORT)),
    (("hooks.slack.com/",), lazy_pattern(r"(hooks\.slack\.com/[a-z]{1,20}/)[\w/-]{10,}")),
    (("sig=", "signature="), lazy_pattern(rf"(?i)([?&](?:x-[a-z]{{1,10}}-)?sig(?:nature)?=){_VALUE}{{6,}}")),
    (("accountkey=",), lazy_pattern(r"(?i)(accountkey=)[^\s;\"'\\]{6,}")),
    (("://",), lazy_pattern(r"(://)[^\s/@\"'\\]{1,200}(?=@)")),
    (("sk-", "sk_", "pk-", "pk_", "rk-", "rk_"), lazy_pattern(r"()\b[spr]k[-_][A-Za-z0-9_-]{16,}")),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), lazy_pattern(r"()\bgh[pousr]_[A-Za-z0-9]{20,}")),
    (("github_pat_", "glpat-"), lazy_pattern(r"()\b(?:github_pat_|glpat-)[\w-]{16,}")),
    (("xox",), lazy_pattern(r"()\bxox[a-z]-[\w-]{10,}")),
    (("akia", "asia"), lazy_pattern(r"()\bA[KS]IA[A-Z0-9]{16}")),
    (("aiza",), lazy_pattern(r"()\bAIza[\w-]{30,}")),
    (("eyj",), lazy_pattern(r"()\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+")),
    (("hf_", "npm_"), lazy_pattern(r"()\b(?:hf|npm)_[A-Za-z0-9]{20,}")),
    (("pypi-", "hvs.", "sg.", "ya29."), lazy_pattern(r"()\b(?:pypi-|hvs\.|SG\.|ya29\.)[\w.-]{20,}")),
    (
        ("dckr_pat_", "shpat_", "whsec_", "xapp-", "atatt", "dop_v1_", "lin_api_", "ntn_"),
        lazy_pattern(r"()\b(?:dckr_pat_|shpat_|whsec_|xapp-|ATATT|dop_v1_|lin_api_|ntn_)[\w-]{10,}"),
    ),
    (("age-secret-key-",), lazy_pattern(r"()\bAGE-SECRET-KEY-[A-Z0-9]{20,}")),
    (
        ("private key",),
        lazy_pattern(r"(?s)()-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:.*?-----END [A-Z ]{0,40}KEY-----|.*)"),
    ),
)
"""What must stand in a text in small letters for a pattern to be worth a try, and the pattern."""
_NEEDLES: Final = tuple(dict.fromkeys(needle for needles, _ in _KINDS for needle in needles))


def redacted(text: str) -> str:
    """`text` without what looks like a key, a token, a password or a private key."""
    plain = text.lower()
    for needle in _NEEDLES:  # most texts have none: 0.8 µs instead of 5
        if needle in plain:
            break
    else:
        return text
    for needles, pattern in _KINDS:
        if any(needle in plain for needle in needles):
            text = pattern.sub(_masked, text)
    return text


def _masked(match: re.Match[str]) -> str:
    return (match[1] or "") + MASK
