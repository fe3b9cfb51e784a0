"""`caliban login` and `caliban logout`: keep the key of a provider, or forget it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from caliban.cli.help import Parser
from caliban.commands.scope import scoped_options, scoped_parser
from caliban.compose.keys import find_place
from caliban.compose.keystore import remove_key, write_key
from caliban.compose.provider import (
    BUILTIN,
    DEFAULT_PROVIDER,
    EXTRAS,
    chosen_names,
    find_factory,
    key_variables,
    provider_table,
)
from caliban.compose.settings import build_settings
from caliban.compose.workspace import build_workspace
from caliban.early_signals import EarlySignals
from caliban.errors import MissingError, UsageError
from caliban.stdio import complain, write_out
from caliban_common.text import clean
from caliban_headless.errors import Cancelled
from caliban_provider.registry import names
from caliban_settings import Settings

MAX_CHARS: Final = 16_384
NO_OAUTH: Final = (
    "caliban logs in with an API key of the provider's console. Signing in with a subscription (OAuth) is "
    "not offered to third-party tools.\n"
)


def login(arguments: Sequence[str], signals: EarlySignals) -> int:
    """Read a key from the terminal without echo, or one line of standard input, and store it."""
    parser = scoped_parser("login", f"Store the API key of a provider. {NO_OAUTH}")
    parser.add_argument("words", metavar="PROVIDER", nargs="*", help="default: the one a run would use")
    if "-h" in arguments or "--help" in arguments:
        return write_out(parser.format_help().encode())
    provider, variables, settings = _named(parser, arguments)
    complain(NO_OAUTH)
    try:
        signals.raises(True)
        key = _read(provider)
        signals.raises(False)
    except KeyboardInterrupt:
        raise Cancelled("cancelled; nothing was stored") from None
    lines = [f"stored the key of {provider} in {write_key(provider, key)}"]
    place = find_place(provider, variables, settings, os.environ)
    if place is not None and place[0] != "stored":
        lines.append(f"a run takes {place[1]} first")
    return _say(lines)


def logout(arguments: Sequence[str]) -> int:
    """Forget the stored key of a provider; that there was none is no error."""
    parser = scoped_parser("logout", "Forget the stored API key of a provider.")
    parser.add_argument("words", metavar="PROVIDER", nargs="*", help="default: the one a run would use")
    if "-h" in arguments or "--help" in arguments:
        return write_out(parser.format_help().encode())
    provider, variables, settings = _named(parser, arguments)
    places = remove_key(provider)
    lines = [f"removed the key of {provider} from {place}" for place in places]
    left = find_place(provider, variables, settings, os.environ)
    if left is not None:
        lines.append(f"a run still takes {left[1]}")
    return _say(lines or [f"there is no stored key of {provider}"])


def _named(parser: Parser, arguments: Sequence[str]) -> tuple[str, tuple[str, ...], Settings]:
    """The provider meant, its variables and the settings.

    What was written is never repeated: it may be a key.
    """
    try:
        said = parser.parse_args(list(arguments))
    except UsageError:
        raise UsageError(
            f"{parser.prog} does not take these arguments", hint=f"{parser.prog} [PROVIDER]"
        ) from None
    options = scoped_options(said)
    settings = build_settings(options.settings, build_workspace(options.workspace.workspace))
    own = settings.get("provider") or {}
    provider = (said.words or [chosen_names(options.model, settings)[0] or DEFAULT_PROVIDER])[0]
    offered = sorted({*names(BUILTIN), *own})
    if len(said.words) > 1 or provider not in (*offered, *EXTRAS):
        raise UsageError(
            f"{parser.prog} takes the name of a provider and nothing else",
            hint=f"{parser.prog} [PROVIDER]; a key is read from standard input; the providers are "
            + ", ".join(offered),
        )
    table = provider_table(settings, provider)
    variables = key_variables(find_factory(provider, table), table)
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
        key = line.decode("utf-8", "replace").strip()
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


def _say(lines: Sequence[str]) -> int:
    return write_out(clean("".join(f"{line}\n" for line in lines)).encode())
