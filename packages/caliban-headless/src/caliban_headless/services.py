"""What is done for the program on the other end beside answering its prompts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from caliban_common.event import Warned
from caliban_headless.local import LocalCommand

if TYPE_CHECKING:
    from caliban_headless.hostline import HostLine
    from caliban_headless.requests import Serve

NOTHING_SERVED: Final[Mapping[str, Serve]] = MappingProxyType({})


class PromptServices(Struct, frozen=True, kw_only=True):
    """What is done for the other end while a prompt runs as well, by subtype.

    `tell` puts an answer among the frames of the prompt that runs; false where none runs.
    """

    served: Mapping[str, Serve]
    tell: Callable[[Warned], bool]


class FrameServices(Struct, frozen=True, kw_only=True):
    """What is done for the other end: `served` in its turn, by subtype, `at_once` while a prompt runs, too.

    A text of a prompt that is `called` as a command is that command. What is asked through the `line` stands
    between prompts, too, as `unsent` gives it, and the first prompt waits until it is `ready` for one.
    """

    line: HostLine | None = None
    unsent: Callable[[], Warned | None] | None = None
    ready: Callable[[], Awaitable[None]] | None = None
    served: Mapping[str, Serve] = MappingProxyType({})
    at_once: PromptServices | None = None
    called: Callable[[str], LocalCommand | None] | None = None
