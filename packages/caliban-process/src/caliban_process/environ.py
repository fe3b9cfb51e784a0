"""The environments of child processes: none with a credential, and most built from lists of names.

Commands get what the person's own shell would give them, without secrets, without the sockets of agents, and
without what changes how the shell reads its text. Everything else gets names that say where things are
(search path, home, language). What looks like a credential by its value passes nowhere (security.md SH2, K3).
What a person has written in the settings for such programs is added as it stands.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from caliban_common.lazy import lazy_pattern

DEFAULT_PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

SECRET_NAMES: Final = (
    r"KEY(?!BOARD|MAP|CLOAK_URL)",
    r"TOKEN(?!IZER)",
    r"SECRET",
    r"PASSW",
    r"PASSPHRASE",
    r"CREDENTIAL",
    r"COOKIE",
    r"(?<![A-Z])(AUTH|PASS|CREDS?|SESSION_ID)(?![A-Z])",
    r"_PWD$",
    r"^(AWS|ANTHROPIC|OPENAI|AZURE|GEMINI|CALIBAN)_\w*HEADERS?$",
)
"""What the names of variables hold that are credentials, in whatever case."""

ACCOUNT_PREFIXES: Final = ("AWS_", "ANTHROPIC_", "OPENAI_", "AZURE_", "GEMINI_", "CALIBAN_")
"""The variables of accounts with model providers: no child gets them, and most (addresses, regions, names of
models) are no secret."""

SECRET_VALUES: Final = (
    r"://[^/\s:@]*:[^/\s@]+@",  # a password in a URL
    r"\b(sk|pk|rk)-[A-Za-z0-9_-]{16,}",
    r"\bgh[opsur]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_",
    r"\bxox[abprs]-",
    r"\bA(KIA|SIA)[A-Z0-9]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"\beyJ[A-Za-z0-9_-]{10,}\.",
    r"-----BEGIN ",
)
"""What credentials look like: regular expressions."""

_IN_NAMES: Final[tuple[str, ...]] = (
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSW",
    "PASSPHRASE",
    "CREDENTIAL",
    "COOKIE",
    "AUTH|PASS|CRED|SESSION_ID",
    "_PWD",
    "HEADER",
)
_IN_VALUES: Final[tuple[str, ...]] = (
    "@",
    "sk-|pk-|rk-",
    "gho_|ghp_|ghs_|ghu_|ghr_",
    "github_pat_",
    "xox",
    "AKIA|ASIA",
    "AIza",
    "eyJ",
    "-----BEGIN ",
)
"""For each pattern the words of which one is in whatever it finds."""

_THIS_MACHINE: Final = r"(?!(localhost|127\.0\.0\.1|\[::1\])([:/?#]|$))"
"""Put behind the first of these: the password of a database of one's own machine keeps nobody out."""

_PLACES: Final = (
    r"PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|TMP|TEMP|NO_COLOR"
    r"|SSL_CERT_FILE|SSL_CERT_DIR|http_proxy|https_proxy|no_proxy|all_proxy"
    r"|HTTP_PROXY|HTTPS_PROXY|NO_PROXY|ALL_PROXY"
)
_TOOLCHAINS: Final = (
    r"CI|SOURCE_DATE_EPOCH|XDG_CONFIG_HOME|XDG_DATA_HOME|XDG_CACHE_HOME|XDG_STATE_HOME"
    r"|VIRTUAL_ENV|CONDA_PREFIX|CONDA_DEFAULT_ENV|PYENV_ROOT|UV_CACHE_DIR|UV_PYTHON|NVM_DIR|NVM_BIN|VOLTA_HOME"
    r"|CARGO_HOME|RUSTUP_HOME|GOPATH|GOROOT|GOCACHE|GOMODCACHE|JAVA_HOME|MAVEN_HOME|GRADLE_USER_HOME"
    r"|ANDROID_HOME|ANDROID_SDK_ROOT|DOTNET_ROOT|GEM_HOME|RBENV_ROOT|NIX_PATH|NIX_PROFILES"
    r"|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NIX_SSL_CERT_FILE"
)
_DESKTOP: Final = (
    # Where a keyring, and whoever asks for its password, is found.
    r"SHELL|TERM|XDG_[A-Z_]+|DBUS_SESSION_BUS_ADDRESS|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|GNUPGHOME|GPG_TTY"
    # Without these, programs on Windows do not start or do not find their files.
    r"|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|PROCESSOR_ARCHITECTURE|NUMBER_OF_PROCESSORS|OS"
    r"|USERPROFILE|USERNAME|USERDOMAIN|COMPUTERNAME|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PUBLIC"
    r"|ALLUSERSPROFILE|PROGRAMDATA|PROGRAMFILES|COMMONPROGRAMFILES|PROGRAMFILES\(X86\)"
)
_SHELL_NAMES: Final = f"{_PLACES}|{_TOOLCHAINS}"
_PROGRAM_NAMES: Final = f"{_PLACES}|{_DESKTOP}"
_NOT_FOR_COMMANDS: Final = (
    # Sockets of those who keep keys and use them for whoever asks.
    r"SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|GNOME_KEYRING_\w+|DBUS_\w+_ADDRESS"
    # How a shell reads its text, and what it runs before it.
    r"|BASH_.*|BASHOPTS|SHELLOPTS|ENV|IFS|PS[0-9]|PROMPT_COMMAND|CDPATH|GLOBIGNORE|GLOBSORT|EXECIGNORE|FIGNORE"
    r"|POSIXLY_CORRECT|TMOUT|TIMEFORMAT|FUNCNEST"
    # Where its caller stands, and programs that wait for a terminal.
    r"|PWD|OLDPWD|SHLVL|_|TERM|COLUMNS|LINES|EDITOR|VISUAL|GIT_EDITOR|GIT_SEQUENCE_EDITOR"
)

_FUNCTION: Final = "%%"
"""How the names end under which bash hands on its functions."""


def shell_environment(
    host: Mapping[str, str],
    added: Mapping[str, str],
    *,
    strict: bool = False,
    is_held: Callable[[str], bool] | None = None,
) -> dict[str, str]:
    """What commands of the model get: a person's environment for building things, no secret, no terminal.

    With `strict` only names that are known to be harmless pass. `is_held` says of a value whether it holds a
    key of ours.
    """
    passed = _shell_variables(tuple(host.items()), strict)
    env = {name: value for name, value in passed.items() if is_held is None or not is_held(value)}
    env["PATH"] = _absolute_entries(env.get("PATH", "")) or DEFAULT_PATH
    return {**env, "TERM": "dumb", **added}


@lru_cache(maxsize=2)
def _shell_variables(host: tuple[tuple[str, str], ...], strict: bool) -> Mapping[str, str]:
    """What of these variables any command gets: one begins with the same ones as the next."""
    is_private = _name_is_private()
    if strict:
        passed = _passed(dict(host), _SHELL_NAMES)
    else:
        kept_back, is_kept_back = _names_of(_NOT_FOR_COMMANDS)
        is_token = _value_is_secret()
        passed = {
            name: value
            for name, value in host
            if not (name in kept_back or name.endswith(_FUNCTION) or is_kept_back(name) or is_token(value))
        }
    return {name: value for name, value in passed.items() if not is_private(name)}


def secret_variables(host: Mapping[str, str]) -> dict[str, str]:
    """The variables that hold a credential, as far as names and values say.

    What an account is reached by (an address, a region, the name of a model) is none: whoever masks these
    values would take plain words out of commands and answers.
    """
    is_secret, is_token = _name_is_secret(), _value_is_secret()
    return {name: value for name, value in host.items() if is_secret(name) or is_token(value)}


def private_variables(host: Mapping[str, str]) -> frozenset[str]:
    """The names of the variables that no child gets for their names or their values."""
    is_private, is_token = _name_is_private(), _value_is_secret()
    return frozenset(name for name, value in host.items() if is_private(name) or is_token(value))


def _name_is_private() -> Callable[[str], bool]:
    is_secret = _name_is_secret()
    return lambda name: name.upper().startswith(ACCOUNT_PREFIXES) or is_secret(name)


def _name_is_secret() -> Callable[[str], bool]:
    return _finder(SECRET_NAMES, _IN_NAMES, re.IGNORECASE)


def _value_is_secret() -> Callable[[str], bool]:
    return _finder((SECRET_VALUES[0] + _THIS_MACHINE, *SECRET_VALUES[1:]), _IN_VALUES)


@lru_cache(maxsize=4)
def _finder(patterns: tuple[str, ...], words: tuple[str, ...], flags: int = 0) -> Callable[[str], bool]:
    """Whether one of `patterns` is in a text. Where each is found, one of its `words` is, in capitals.

    To compile all patterns of names or of values costs 1 ms, and most of them are never needed: most texts
    have none of the words.
    """
    hint = lazy_pattern("|".join(words))
    lazy = [lazy_pattern(pattern, flags) for pattern in patterns]
    pairs = [(word, pattern) for pattern, some in zip(lazy, words, strict=True) for word in some.split("|")]

    def is_found(text: str) -> bool:
        if flags & re.IGNORECASE and not text.isascii():  # other letters may count as those of a word
            return any(pattern.search(text) for pattern in lazy)
        shown = text.upper() if flags else text
        return hint.search(shown) is not None and any(
            word in shown and pattern.search(text) is not None for word, pattern in pairs
        )

    return is_found


def program_environment(host: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """What programs that a person has configured get: where a desktop and its keyring are, nothing to build.

    It is one program's business where its own secrets are; the keys of others, and the sockets of agents that
    would use them, are none of it.
    """
    return {**_program_variables(tuple(host.items())), **added}


@lru_cache(maxsize=2)
def _program_variables(host: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """What of these variables any such program gets: several servers begin with the same ones."""
    env = _passed(dict(host), _PROGRAM_NAMES)
    if "PATH" in env:
        env["PATH"] = _absolute_entries(env["PATH"]) or os.defpath
    return env


def _passed(host: Mapping[str, str], names: str) -> dict[str, str]:
    plain, is_listed = _names_of(names)
    is_secret = _finder(SECRET_VALUES, _IN_VALUES)
    return {
        name: value
        for name, value in host.items()
        if (name in plain or is_listed(name)) and not is_secret(value)
    }


@lru_cache(maxsize=4)
def _names_of(names: str) -> tuple[frozenset[str], Callable[[str], bool]]:
    """The plain names of a list, and whether one of the others is meant.

    To compile all of those costs 1 ms: one is looked at where a name begins as it does.
    """
    words = names.split("|")
    plain = frozenset(word for word in words if word.isidentifier())
    others = tuple((re.split(r"\W", word, maxsplit=1)[0], word) for word in words if word not in plain)

    def is_listed(name: str) -> bool:
        return any(name.startswith(begin) and re.fullmatch(word, name) for begin, word in others)

    return plain, is_listed


@lru_cache(maxsize=8)
def _absolute_entries(path: str) -> str:
    """A search path without relative entries: they would let the current directory name programs."""
    # A path object for each would cost more than all else that is done with it.
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))  # noqa: PTH117
