"""What `ProviderOptions.extra` holds: names that a factory understands, and values that are checked."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import cast

from caliban_provider.errors import AuthenticationError, InvalidRequest
from caliban_provider.provider import ProviderFactory

VERSION = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""A version in a header, a path or a body."""

LINE = r"[\x21-\x7e](?:[\x20-\x7e]{0,998}[\x21-\x7e])?"
"""What a header can carry: one line of plain characters."""

PRICES = frozenset({"input", "output", "cache_read", "cache_write"})
"""What may have a price, in US dollars per million tokens."""

_HEADER_NAME = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_FRAMING = frozenset({"content-length", "transfer-encoding", "trailer", "expect", "upgrade"})
"""Headers that say how a request is cut into messages: only who writes the bytes knows."""

_SHOWN_CHARS = 40


def declared(factory: ProviderFactory) -> Mapping[str, str] | None:
    """The options that `factory` says it understands, each with a line about it; `None`: it does not say."""
    options: object = getattr(factory, "options", None)
    return cast("Mapping[str, str]", options) if isinstance(options, Mapping) else None


def under(factory: ProviderFactory, extra: Mapping[str, str]) -> ProviderFactory:
    """The factory whose facts hold with `extra`: what an optional method `under` of `factory` makes of it."""
    make: Callable[[Mapping[str, str]], ProviderFactory] | None = getattr(factory, "under", None)
    return factory if make is None or not extra else make(extra)


def prices(factory: ProviderFactory) -> Mapping[str, Mapping[str, float]]:
    """What `factory` says that models cost, by their ids: those of its rows that are prices."""
    rows: object = getattr(factory, "prices", None)
    if not isinstance(rows, Mapping):
        return {}
    return {str(model): row for model, row in rows.items() if _is_price(row)}


def _is_price(row: object) -> bool:
    """Whether it has the names of prices, input and output among them, each with a number ≥ 0."""
    if not isinstance(row, Mapping) or not {"input", "output"} <= row.keys() <= PRICES:
        return False
    return all(isinstance(value, int | float) and 0 <= value < math.inf for value in row.values())


def refuse_unknown(
    factory: ProviderFactory, extra: Mapping[str, str], *, others: tuple[str, ...] = ()
) -> None:
    """Raise `InvalidRequest` for a name in `extra` that `factory` does not declare.

    `others` are options that somebody else reads: they are named with its own.
    """
    known = declared(factory)
    unknown = [] if known is None else sorted(set(extra) - set(known))
    if known is None or not unknown:
        return
    import difflib

    name, offers = unknown[0], sorted({*known, *others})
    near = difflib.get_close_matches(name[:60], offers, n=1)
    offered = f"it has {', '.join(offers)}" if offers else "it has none"
    raise InvalidRequest(
        f"the provider {factory.name} has no option {name!r:.60}; {offered}",
        hint=f"did you mean {near[0]}?" if near else None,
    )


def one_of(extra: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str | None:
    """The value of the option `name`; `None` where it is not given or empty.

    Raises `InvalidRequest` for one that is not among `choices`.
    """
    value = extra.get(name, "").strip()
    if value and value not in choices:
        raise InvalidRequest(f"the option {name} is {' or '.join(choices)}, not {_shown(value)}")
    return value or None


def several_of(extra: Mapping[str, str], name: str, choices: tuple[str, ...]) -> tuple[str, ...]:
    """What the comma list in the option `name` holds, each once; empty where it is not given.

    Raises `InvalidRequest` for an item that is not among `choices`.
    """
    items = dict.fromkeys(item.strip() for item in extra.get(name, "").split(",") if item.strip())
    for item in items:
        if item not in choices:
            raise InvalidRequest(f"the option {name} knows {', '.join(choices)}, not {_shown(item)}")
    return tuple(items)


def matching(
    extra: Mapping[str, str], name: str, pattern: str, *, what: str, hint: str | None = None
) -> str | None:
    """The value of the option `name` without space around it; `None` where it is not given or empty.

    Raises `InvalidRequest`, which says `what` it should be, for one that is not wholly of `pattern`.
    """
    value = extra.get(name, "").strip()
    if value and re.fullmatch(pattern, value) is None:
        raise InvalidRequest(f"the option {name} is {what}, not {_shown(value)}", hint=hint)
    return value or None


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse, in words that hold no header's value, what cannot be sent. Raises `InvalidRequest`."""
    for name, value in headers.items():
        if name.lower() in _FRAMING:
            raise InvalidRequest(
                f"the header {name!r} is not for settings: each request says itself how long it is",
                hint="leave it out of the configured headers",
            )
        if re.fullmatch(_HEADER_NAME, name) is None or not (value.isascii() and value.isprintable()):
            raise InvalidRequest(
                f"the header {_shown(name)} holds characters that HTTP does not allow",
                hint="look for a line break or a typographic character in the key or the configured headers",
            )


def _shown(value: str) -> str:
    return repr(value if len(value) <= _SHOWN_CHARS else f"{value[:_SHOWN_CHARS]}…")


def checked_key(key: str | None, *, vendor: str = "") -> str | None:
    """`key` without white space around it, `None` for none.

    Raises `AuthenticationError` for what cannot be a key of `vendor`.
    """
    key = (key or "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        whose = f" for {vendor}" if vendor else ""
        raise AuthenticationError(
            f"the key{whose} holds characters that a key cannot have",
            hint="it was probably copied with something around it: set it again",
        )
    return key or None
