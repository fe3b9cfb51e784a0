"""How large a model's window is, as the refusal of a prompt tells it."""

from __future__ import annotations

import re

NUMBER = r"(\d[\d,._]*\d|\d)"
LIMITS = (
    re.compile(rf"> ?{NUMBER}"),
    re.compile(
        rf"(?:max\w*|limit\w*|context (?:length|size|window)|available)\D{{0,60}}{NUMBER}", re.IGNORECASE
    ),
    re.compile(rf"{NUMBER}(?: tokens?)?\)? (?:is the )?(?:max\w*|limit)", re.IGNORECASE),
)
SIZES = re.compile(rf"(?<![\w.]){NUMBER}(?![\w.])")
LEAST_TOKENS = 512
"""A smaller number in a refusal is no window."""


def window_after(refusal: str, *, estimated_tokens: int) -> int:
    """The window to plan with, in estimated tokens, after a prompt of `estimated_tokens` was refused.

    That is the maximum that the `refusal` states, made smaller as far as it says that the prompt was larger
    than estimated. Where it states none, or one that the estimate fitted, half of what was refused.
    """
    half = max(1, estimated_tokens // 2)
    stated = stated_window(refusal)
    if stated is None:
        return half
    prompt = max((n for n in map(_value, SIZES.findall(refusal)) if n > stated), default=0)
    if prompt > estimated_tokens:
        return max(1, stated * estimated_tokens // prompt)
    return stated if stated < estimated_tokens else half


def stated_window(refusal: str) -> int | None:
    """The maximum that a refusal states; `None` where it states none."""
    for pattern in LIMITS:
        for found in pattern.findall(refusal):
            if (value := _value(found)) >= LEAST_TOKENS:
                return value
    return None


def _value(number: str) -> int:
    return int(re.sub(r"\D", "", number))
