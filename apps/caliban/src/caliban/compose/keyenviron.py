"""What a program that prints a key gets to know of the environment: an allow-list, never the whole.

It is one program's business where its own secrets are; the keys of others, and the sockets of agents that
would use them, are none of it (security.md SH2). What a person lists in the setting `env` does pass.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_PASSED: Final = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|LANG|LANGUAGE|LC_[A-Z]+|TMPDIR|TMP|TEMP|NO_COLOR"
    # Where a keyring, and whoever asks for its password, is found.
    r"|XDG_[A-Z_]+|DBUS_SESSION_BUS_ADDRESS|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|GNUPGHOME|GPG_TTY"
    r"|SSL_CERT_FILE|SSL_CERT_DIR|(https?|no|all)_proxy|(HTTPS?|NO|ALL)_PROXY"
    # Without these, programs on Windows do not start or do not find their files.
    r"|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|PROCESSOR_ARCHITECTURE|NUMBER_OF_PROCESSORS|OS"
    r"|USERPROFILE|USERNAME|USERDOMAIN|COMPUTERNAME|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PUBLIC"
    r"|(ALLUSERSPROFILE|PROGRAMDATA|PROGRAMFILES|COMMONPROGRAMFILES)|PROGRAMFILES\(X86\)"
)
_SECRET_VALUE: Final = re.compile(
    r"://[^/\s@]*@"  # user and password in a URL
    r"|\b(sk|pk|rk)-[A-Za-z0-9_-]{16,}|\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_|\bA(KIA|SIA)[A-Z0-9]{16}\b"
)


def program_environment(host: Mapping[str, str], listed: Mapping[str, str]) -> dict[str, str]:
    """What may pass of `host`, then what a person has `listed`."""
    env = {
        name: value
        for name, value in host.items()
        if _PASSED.fullmatch(name) and not _SECRET_VALUE.search(value)
    }
    if "PATH" in env:
        # A relative entry would let the directory of the run name programs.
        entries = [entry for entry in env["PATH"].split(os.pathsep) if Path(entry).is_absolute()]
        env["PATH"] = os.pathsep.join(entries) or os.defpath
    return {**env, **listed}
