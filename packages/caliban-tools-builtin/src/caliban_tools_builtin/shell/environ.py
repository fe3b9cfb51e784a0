"""The environment of a child process: built from an allow-list, never inherited whole.

Names that may pass say where things are (search path, home, language, tool-chains). What looks like a
credential by its name or its value does not pass even if it is on the list (security.md SH2, K3).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_PASSED = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|TMP|TEMP|CI|NO_COLOR|SOURCE_DATE_EPOCH"
    r"|XDG_(CONFIG|DATA|CACHE|STATE)_HOME"
    r"|VIRTUAL_ENV|CONDA_PREFIX|CONDA_DEFAULT_ENV|PYENV_ROOT|UV_CACHE_DIR|UV_PYTHON|NVM_DIR|NVM_BIN|VOLTA_HOME"
    r"|CARGO_HOME|RUSTUP_HOME|GOPATH|GOROOT|GOCACHE|GOMODCACHE|JAVA_HOME|MAVEN_HOME|GRADLE_USER_HOME"
    r"|ANDROID_HOME|ANDROID_SDK_ROOT|DOTNET_ROOT|GEM_HOME|RBENV_ROOT|NIX_PATH|NIX_PROFILES"
    r"|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NIX_SSL_CERT_FILE"
    r"|(http|https|no|all)_proxy|(HTTP|HTTPS|NO|ALL)_PROXY"
)
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|SESSION", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"://[^/\s@]*@"  # user and password in a URL
    r"|\b(sk|pk|rk)-[A-Za-z0-9_-]{16,}|\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_|\bxox[abprs]-"
    r"|\bA(KIA|SIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\beyJ[A-Za-z0-9_-]{10,}\.|-----BEGIN "
)


def child_environment(host: Mapping[str, str], overrides: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command: what may pass of `host`, then `overrides`, which the user has listed."""
    env = {
        name: value
        for name, value in host.items()
        if _PASSED.fullmatch(name) and not _SECRET_NAME.search(name) and not _SECRET_VALUE.search(value)
    }
    env["PATH"] = _absolute_entries(env.get("PATH", ""))
    env["TERM"] = "dumb"
    env.update(overrides)
    return env


def _absolute_entries(path: str) -> str:
    """A search path without relative entries: they would let the current directory name programs."""
    entries = [entry for entry in path.split(os.pathsep) if entry and Path(entry).is_absolute()]
    return os.pathsep.join(entries) or DEFAULT_PATH
