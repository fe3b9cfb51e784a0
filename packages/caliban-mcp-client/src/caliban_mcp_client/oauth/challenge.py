"""What a server says with 401 or 403 in `WWW-Authenticate` (RFC 9110, 6750, 9728)."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from caliban_common.lazy import lazy_pattern

_MAX_CHARS: Final = 16_384
_PARAM: Final = lazy_pattern(
    r"""\s*([A-Za-z0-9!#$%&'*+.^_`|~-]{1,64})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))""",
    re.ASCII | re.DOTALL,
)
_SCHEME: Final = lazy_pattern(r"""[\s,]*([A-Za-z0-9!#$%&'*+.^_`|~-]{1,64})(?=\s|,|$)(?!\s*=)""", re.ASCII)


class Challenge(Struct, frozen=True, kw_only=True):
    """What matters of it; empty where it is not said."""

    scheme: str = ""
    resource_metadata: str = ""
    scopes: tuple[str, ...] = ()
    error: str = ""

    @property
    def wants_scope(self) -> bool:
        """Whether the login is good, and does not reach far enough."""
        return self.error == "insufficient_scope"


def read_challenge(header: str) -> Challenge:
    """The `Bearer` challenge of a header, or of several that are joined by commas; linear in its length.

    What is no challenge is skipped. Of a parameter that comes twice in one challenge the first counts.
    """
    best: Challenge | None = None
    for scheme, params in _challenges(header[:_MAX_CHARS]):
        challenge = Challenge(
            scheme=scheme,
            resource_metadata=params.get("resource_metadata", "").strip(),
            scopes=split_scopes(params.get("scope", "")),
            error=params.get("error", ""),
        )
        is_better = scheme == "bearer" and (
            best is None or best.scheme != scheme or _says_more(challenge, best)
        )
        if best is None or is_better:
            best = challenge
    return best or Challenge()


def split_scopes(text: str) -> tuple[str, ...]:
    """The scopes of a text, each once, without what no scope may hold (RFC 6749, section 3.3)."""
    words = (word for word in text[:_MAX_CHARS].split(" ") if word)
    return tuple(
        dict.fromkeys(
            word for word in words if all("!" <= char <= "~" and char not in '"\\' for char in word)
        )
    )


def _says_more(one: Challenge, other: Challenge) -> bool:
    return bool(one.resource_metadata) and not other.resource_metadata


def _challenges(header: str) -> list[tuple[str, dict[str, str]]]:
    """Schemes in lower case, with their parameters."""
    challenges: list[tuple[str, dict[str, str]]] = []
    at = 0
    while at < len(header):
        scheme = _SCHEME.match(header, at)
        param = None if scheme else _PARAM.match(header, at)
        if scheme is not None:
            challenges.append((scheme[1].lower(), {}))
            at = scheme.end()
        elif param is not None and param.end() > at:
            if not challenges:
                challenges.append(("bearer", {}))
            quoted, plain = param[2], param[3]
            value = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) if quoted is not None else plain
            challenges[-1][1].setdefault(param[1].lower(), value)
            at = param.end()
        else:
            at += 1
    return challenges
