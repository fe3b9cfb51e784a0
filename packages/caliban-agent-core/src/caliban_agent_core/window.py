"""How large a model's window is, as the refusal of a prompt tells it."""

from __future__ import annotations

import re

NUMBER = r"(\d[\d,._]*\d|\d)"
LIMITS = (
    rf"> ?{NUMBER}",
    rf"(?i)(?:max\w*|limit\w*|context (?:length|size|window)|available)\D{{0,60}}{NUMBER}",
    rf"(?i){NUMBER}(?: tokens?)?\)? (?:is the )?(?:max\w*|limit)",
)
SIZES = rf"(?<![\w.]){NUMBER}(?![\w.])"
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
    prompt = max((n for n in map(_value, re.findall(SIZES, refusal)) if n > stated), default=0)
    if prompt > estimated_tokens:
        return max(1, stated * estimated_tokens // prompt)
    return stated if stated < estimated_tokens else half


def stated_window(refusal: str) -> int | None:
    """The maximum that a refusal states; `None` where it states none."""
    for pattern in LIMITS:
        for number in re.findall(pattern, refusal):
            if (value := _value(number)) >= LEAST_TOKENS:
                return value
    return None


def _value(number: str) -> int:
    return int(re.sub(r"\D", "", number))
