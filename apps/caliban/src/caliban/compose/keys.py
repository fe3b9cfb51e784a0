"""The key of a provider: a program that prints it, the environment, or where `caliban login` put it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from caliban.compose.keystore import read_key
from caliban.errors import ConfigError
from caliban_common.paths import expand_user
from caliban_common.secret import masked_repr
from caliban_common.text import one_line
from caliban_provider.registry import first_set
from caliban_settings import Settings
from caliban_settings.schema import PERSON

ANY_PROVIDER: Final = "*"
KEYLESS: Final = ("local", "ollama")
"""Providers that a program for all providers is not asked about: they run without a key."""
TTL_VARIABLE: Final = "CALIBAN_API_KEY_HELPER_TTL_MS"
LIMIT_S: Final = 30.0
REFRESH_MS: Final = 300_000
SLOW_MS: Final = 10_000

KeySource: TypeAlias = Literal["helper", "environment", "stored"]


class KeyHelper(Struct, frozen=True, kw_only=True):
    """What is run for the key of which provider.

    A key is good for `ttl_ms`; after `slow_ms` a person is told what is waited for. Of `environ` the program
    gets what may pass, and all that is `listed`.
    """

    command: tuple[str, ...]
    provider: str
    ttl_ms: int
    slow_ms: int
    limit_s: float = LIMIT_S
    environ: Mapping[str, str]
    listed: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return masked_repr(self, "environ", "listed")

    @property
    def name(self) -> str:
        """The program for a message: its arguments may hold what nobody should read."""
        return one_line(self.command[0], max_chars=200)


def find_key(
    provider: str, variables: tuple[str, ...], settings: Settings, environ: Mapping[str, str]
) -> str | KeyHelper | None:
    """The key of a provider by the guide's precedence, or the program to ask for it.

    Its own helper, the helper for all, the environment, the keyring (or the 0600 file). `variables` name the
    key in the environment; a provider without any has no key. No program is run. Raises `ConfigError` for a
    helper that is none and for a store that cannot be trusted.
    """
    if not variables:
        return None
    helper = _key_helper(provider, settings, environ)
    if helper is not None:
        return helper
    return first_set(environ, variables) or read_key(provider)


def locate_key(
    provider: str, variables: tuple[str, ...], settings: Settings, environ: Mapping[str, str]
) -> tuple[KeySource, str] | None:
    """Where `find_key` would take the key from, in a word and in words. Raises as it does."""
    if not variables:
        return None
    helper = _key_helper(provider, settings, environ)
    if helper is not None:
        return "helper", f"the program {helper.name} (api_key_helper)"
    named = next((name for name in variables if environ.get(name)), None)
    if named is not None:
        return "environment", f"the environment variable {named}"
    return ("stored", "the store of caliban login") if read_key(provider) else None


def _key_helper(provider: str, settings: Settings, environ: Mapping[str, str]) -> KeyHelper | None:
    """What to run for the key of `provider`, if anything."""
    helper = _helper(provider, settings.get("api_key_helper"))
    if helper is None:
        return None
    return KeyHelper(
        command=_command(helper),
        provider=provider,
        ttl_ms=_ttl_ms(helper, environ),
        slow_ms=helper.get("slowHelperWarningMs", SLOW_MS),
        environ=environ,
        listed=_listed(settings),
    )


def _helper(provider: str, written: Any) -> Mapping[str, Any] | None:
    """The helper for `provider` out of the three shapes of the setting: its own before the one for all."""
    if written is None:
        return None
    if isinstance(written, str):
        written = {"command": written}
    helpers: list[Mapping[str, Any]] = [written] if isinstance(written, Mapping) else list(written)
    wanted = (provider,) if provider in KEYLESS else (provider, ANY_PROVIDER)
    for name in wanted:
        for helper in helpers:
            if helper.get("provider", ANY_PROVIDER) == name:
                return helper
    return None


def _listed(settings: Settings) -> dict[str, str]:
    """The setting `env` as a person wrote it: a repository, trusted or not, steers no program for keys."""
    listed: dict[str, str] = {}
    for scope, layer in settings.layers.items():
        if scope in PERSON:
            listed |= layer.get("env") or {}
    return listed


def _command(helper: Mapping[str, Any]) -> tuple[str, ...]:
    """Program and arguments. Without `args` the command may hold them; no shell ever reads it."""
    text: str = helper["command"]
    whole = "args" in helper or _is_file(expand_user(text))
    try:
        words = [text] if whole else shlex.split(text, posix=os.name == "posix")
    except ValueError as error:
        raise ConfigError(
            f"api_key_helper: the command cannot be split into words: {one_line(str(error))}",
            hint='close its quotes, or give the words as args = ["…"]',
        ) from error
    if not words or not words[0].strip():
        raise ConfigError("api_key_helper: the command is empty", hint="name a program that prints the key")
    return (str(expand_user(words[0])), *words[1:], *helper.get("args", ()))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _ttl_ms(helper: Mapping[str, Any], environ: Mapping[str, str]) -> int:
    """How long a key is said to be good for; the environment's word comes first where it is a number."""
    text = environ.get(TTL_VARIABLE, "")
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    chosen: int = helper.get("refreshIntervalMs", REFRESH_MS)
    return chosen
