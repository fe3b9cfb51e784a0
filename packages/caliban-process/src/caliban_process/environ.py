"""The environments of child processes: built from lists of names, never inherited whole.

A name that may pass says where things are (search path, home, language, tool-chains). What looks like a
credential by its value does not pass even if its name is listed (security.md SH2, K3). What a person has
written in the settings for such programs is added as it stands.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

DEFAULT_PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"

SECRET_NAMES: Final = (
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSW",
    "PASSPHRASE",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
    "SESSION",
)
"""Words in the names of variables that hold credentials, in whatever case."""

SECRET_VALUES: Final = (
    r"://[^/\s@]*@",  # user and password in a URL
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

_PLACES: Final = (
    r"PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|TMP|TEMP|NO_COLOR"
    r"|SSL_CERT_FILE|SSL_CERT_DIR|(https?|no|all)_proxy|(HTTPS?|NO|ALL)_PROXY"
)
_TOOLCHAINS: Final = (
    r"CI|SOURCE_DATE_EPOCH|XDG_(CONFIG|DATA|CACHE|STATE)_HOME"
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
    r"|(ALLUSERSPROFILE|PROGRAMDATA|PROGRAMFILES|COMMONPROGRAMFILES)|PROGRAMFILES\(X86\)"
)
_SHELL_NAMES: Final = f"{_PLACES}|{_TOOLCHAINS}"
_PROGRAM_NAMES: Final = f"{_PLACES}|{_DESKTOP}"


def shell_environment(host: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """What commands of the model get: a person's environment for building things, no secret, no terminal."""
    is_secret = re.compile("|".join(SECRET_NAMES), re.IGNORECASE).search
    env = {
        name: value
        for name, value in _passed(host, _SHELL_NAMES).items()
        if not is_secret(name)  # a listed pattern, such as that of locales, may fit one
    }
    env["PATH"] = _absolute_entries(env.get("PATH", "")) or DEFAULT_PATH
    return {**env, "TERM": "dumb", **added}


def program_environment(host: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """What programs that a person has configured get: where a desktop and its keyring are, nothing to build.

    It is one program's business where its own secrets are; the keys of others, and the sockets of agents that
    would use them, are none of it.
    """
    env = _passed(host, _PROGRAM_NAMES)
    if "PATH" in env:
        env["PATH"] = _absolute_entries(env["PATH"]) or os.defpath
    return {**env, **added}


def _passed(host: Mapping[str, str], names: str) -> dict[str, str]:
    # Compiled when first used (2 ms each), and kept by `re`: a run needs one of the two lists.
    is_listed = re.compile(names).fullmatch
    is_secret = re.compile("|".join(SECRET_VALUES)).search
    return {name: value for name, value in host.items() if is_listed(name) and not is_secret(value)}


@lru_cache(maxsize=8)
def _absolute_entries(path: str) -> str:
    """A search path without relative entries: they would let the current directory name programs."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if Path(entry).is_absolute())
