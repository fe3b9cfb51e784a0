"""The window that a reply is given: large enough that the server has no reason to cut the prompt.

The server cuts the oldest part of a prompt that does not fit and says nothing, and its usual window is small.
So every request says how large a window it needs. Another size makes the server load the model anew: sizes
come in few steps, and never shrink (see `Windows`).
"""

from __future__ import annotations

from caliban_common.estimate import CHARS_PER_TOKEN
from caliban_provider.errors import ContextTooLong

MIN_TOKENS = 8192
"""The smallest window that is asked for, where the model has it."""

IMAGE_TOKENS = 1024
"""What an image is reckoned at; models differ, and few take more."""

_MARGIN = 1.2
_MAX_RATIO = 3.0
_TELLING_TOKENS = 500


def estimate_tokens(data: bytes) -> int:
    """About how many tokens the UTF-8 text `data` takes: four ASCII characters, or one of any other kind.

    Dearer than `caliban_common.estimate`: a prompt that does not fit its window loses its beginning.
    """
    chars = len(data.decode("utf-8", "replace"))
    others = (len(data) - chars + 1) // 2
    return max(chars - others, 0) // CHARS_PER_TOKEN + min(others, chars) + 1


def window_tokens(prompt_tokens: int, max_tokens: int, limit: int | None, *, fixed: int | None = None) -> int:
    """The window for a prompt of about `prompt_tokens` and a reply of up to `max_tokens`.

    `limit` is the model's own window, `fixed` the operator's wish. Raises `ContextTooLong` when the prompt
    alone does not fit.
    """
    limits = [size for size in (limit, fixed) if size is not None]
    most = min(limits) if limits else None
    if most is not None and prompt_tokens >= most:
        raise ContextTooLong(
            f"the conversation takes about {prompt_tokens} tokens, and the window has {most}",
            hint="compact the conversation, use a model with a larger window, or raise num_ctx",
        )
    if fixed is not None and most is not None:
        return most
    wanted = stepped(int(prompt_tokens * _MARGIN) + max_tokens)
    return wanted if most is None else min(wanted, most)


def stepped(tokens: int) -> int:
    """The next size of a window: powers of two, and from 32768 on their halves between them too."""
    size = MIN_TOKENS
    while size < tokens:
        between = size + size // 2
        if size >= 4 * MIN_TOKENS and between >= tokens:
            return between
        size *= 2
    return size


class Windows:
    """What was learned of each model: the largest window it was asked for, and how far estimates fall short.

    The largest window stays the model's window. What the server counted counts more than an estimate below
    it; a count below the estimate says nothing, for the server leaves out what it still remembers.
    """

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._ratios: dict[str, float] = {}

    def reckon(self, model: str, prompt_tokens: int) -> int:
        """The estimate `prompt_tokens`, by the experience with `model`."""
        return int(prompt_tokens * self._ratios.get(model, 1.0))

    def learn(self, model: str, prompt_tokens: int, counted_tokens: int) -> None:
        """A prompt estimated at `prompt_tokens` was counted by the server."""
        ratio = min(counted_tokens / max(prompt_tokens, 1), _MAX_RATIO)
        if counted_tokens >= _TELLING_TOKENS and ratio > self._ratios.get(model, 1.0):
            self._ratios[model] = ratio

    def widen(self, model: str, tokens: int) -> int:
        """`tokens`, or more where the model was given more before."""
        size = max(tokens, self._sizes.get(model, 0))
        self._sizes[model] = size
        return size
