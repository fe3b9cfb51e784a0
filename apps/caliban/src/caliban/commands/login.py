"""`caliban login` and `caliban logout`: keep the key of a provider, or forget it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from caliban.cli.invocation import Invocation
from caliban.cli.options import Options
from caliban.compose.catalog import BUILTIN, EXTRAS, find_provider, provider_tables
from caliban.compose.choice import choose_model
from caliban.compose.keys import locate_key
from caliban.compose.keystore import remove_key, write_key
from caliban.compose.project import build_settings
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandCancelled, MissingError, UsageError
from caliban.stdio import complain, print_lines
from caliban_provider.registry import names
from caliban_settings import Settings

MAX_CHARS: Final = 16_384
NO_OAUTH: Final = (
    "caliban logs in with an API key of Anthropic's console. Signing in with a subscription (OAuth) is not "
    "offered to third-party tools.\n"
)


def login(invocation: Invocation) -> int:
    """Read a key from the terminal without echo, or one line of standard input, and store it."""
    provider, variables, settings = _named("login", invocation.options, invocation.values["words"])
    signals = invocation.signals
    if provider == "anthropic":  # whose subscriptions people know from elsewhere
        complain(NO_OAUTH)
    try:
        signals.raises(True)
        key = _read(provider)
        signals.raises(False)
    except KeyboardInterrupt:
        raise CommandCancelled("cancelled; nothing was stored") from None
    lines = [f"stored the key of {provider} in {write_key(provider, key)}"]
    place = locate_key(provider, variables, settings, os.environ)
    if place is not None and place[0] != "stored":
        lines.append(f"a run takes {place[1]} first")
    return print_lines(lines)


def logout(invocation: Invocation) -> int:
    """Forget the stored key of a provider; that there was none is no error."""
    return print_lines(forget_key("logout", invocation.options, invocation.values["words"]))


def forget_key(command: str, options: Options, words: Sequence[str]) -> list[str]:
    """Forget the stored key of the provider that `words` name; what to tell of it. Raises `UsageError`."""
    provider, variables, settings = _named(command, options, words)
    places = remove_key(provider)
    lines = [f"removed the key of {provider} from {place}" for place in places]
    left = locate_key(provider, variables, settings, os.environ)
    if left is not None:
        lines.append(f"a run still takes {left[1]}")
    return lines or [f"there is no stored key of {provider}"]


def _named(command: str, options: Options, words: Sequence[str]) -> tuple[str, tuple[str, ...], Settings]:
    """The provider meant, its variables and the settings.

    What was written is never repeated: it may be a key.
    """
    settings = build_settings(options.settings, build_workspace(options.workspace.workspace))
    tables = provider_tables(settings)
    provider = (words or [choose_model(options.model, settings).provider])[0]
    offered = sorted({*names(BUILTIN), *tables})
    if len(words) > 1 or provider not in (*offered, *EXTRAS):
        raise UsageError(
            f"caliban {command} takes the name of a provider and nothing else",
            hint=f"caliban {command} [PROVIDER]; a key is read from standard input; the providers are "
            + ", ".join(offered),
        )
    variables = find_provider(provider, tables).key_variables
    if not variables:
        raise UsageError(f"the provider {provider} needs no key")
    return provider, variables, settings


def _read(provider: str) -> str:
    """The key, as it was typed or piped in."""
    if sys.stdin is not None and sys.stdin.isatty():
        from getpass import getpass

        try:
            key = getpass(f"API key of {provider} (not shown): ").strip()
        except EOFError:
            key = ""
    else:
        line = b"" if sys.stdin is None else sys.stdin.buffer.readline(MAX_CHARS + 2)
        key = line.decode("utf-8-sig", "replace").strip()
    if not key:
        raise MissingError(
            "there is no key on standard input; nothing was stored",
            hint=f"caliban login {provider} asks for it; or: caliban login {provider} < FILE",
        )
    if len(key) > MAX_CHARS or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(
            "what was given is not a key: a key is one word of plain characters; nothing was stored"
        )
    return key
