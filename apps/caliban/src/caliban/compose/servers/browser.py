"""The browser of the person, opened with an address that was checked: never through a shell."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from caliban_process.environ import program_environment

_OPENERS: Final = ("xdg-open", "wslview", "x-www-browser")


def browser_command(url: str, environ: Mapping[str, str]) -> Sequence[str] | None:
    """What opens `url` in a browser that the person sees; `None` where there is none.

    On another machine (ssh) and without a display nobody would see it.
    """
    if any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT")):
        return None
    if sys.platform == "darwin":
        return ("/usr/bin/open", url)
    if sys.platform == "win32":
        return ("rundll32", "url.dll,FileProtocolHandler", url)
    shown = any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"))
    opener = next((path for name in _OPENERS if (path := shutil.which(name, path=environ.get("PATH")))), None)
    return (opener, url) if shown and opener is not None and Path(opener).is_absolute() else None


def open_browser(url: str, environ: Mapping[str, str]) -> bool:
    """Open `url`, and do not wait: the browser stays when we go. Whether something was started."""
    command = browser_command(url, environ)
    if command is None or not url.startswith(("https://", "http://")):
        return False
    try:
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=program_environment(environ, {}),
            start_new_session=True,
        )
    except OSError:
        return False
    return True
