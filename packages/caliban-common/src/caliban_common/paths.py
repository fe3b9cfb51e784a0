"""Where things lie: the one module that knows directories of the operating system.

`XDG_*` is honoured on every system when it is set to an absolute path; else Linux takes the XDG defaults and
the others their native directories, as the guide's tables of paths name them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

APP = "caliban"


class PlatformDir(Struct, frozen=True, kw_only=True):
    """One kind of directory and where each system puts it.

    `linux`, `macos` and `windows_home` are below the home directory; `windows_below` is below the directory
    that `windows_variable` names.
    """

    xdg_variable: str
    linux: str
    macos: str
    windows_variable: str
    windows_home: str
    windows_below: str = ""


CONFIG = PlatformDir(
    xdg_variable="XDG_CONFIG_HOME",
    linux=".config",
    macos="Library/Application Support",
    windows_variable="APPDATA",
    windows_home="AppData/Roaming",
)
DATA = PlatformDir(
    xdg_variable="XDG_DATA_HOME",
    linux=".local/share",
    macos="Library/Application Support",
    windows_variable="LOCALAPPDATA",
    windows_home="AppData/Local",
)
STATE = PlatformDir(
    xdg_variable="XDG_STATE_HOME",
    linux=".local/state",
    macos="Library/Application Support",
    windows_variable="LOCALAPPDATA",
    windows_home="AppData/Local",
)
CACHE = PlatformDir(
    xdg_variable="XDG_CACHE_HOME",
    linux=".cache",
    macos="Library/Caches",
    windows_variable="LOCALAPPDATA",
    windows_home="AppData/Local",
    windows_below="caliban/cache",
)


def config_dir() -> Path:
    """The user's settings, usually `~/.config/caliban`."""
    return _user_dir(CONFIG)


def data_dir() -> Path:
    """What the user would miss: sessions, plugins; usually `~/.local/share/caliban`."""
    return _user_dir(DATA)


def state_dir() -> Path:
    """What happened: logs; usually `~/.local/state/caliban`. On macOS it is the directory of data."""
    return _user_dir(DATA if sys.platform == "darwin" else STATE)


def cache_dir() -> Path:
    """What can be made again, usually `~/.cache/caliban`."""
    return _user_dir(CACHE)


def managed_settings_dir() -> Path:
    """Where an administrator puts settings for every user of this machine."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support/Caliban")
    if sys.platform == "win32":
        return Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData")) / "Caliban"
    return Path("/etc/caliban")


def home() -> Path:
    """The user's home directory; the current directory when there is none to be found."""
    try:
        return Path.home()
    except RuntimeError:
        return Path.cwd()


def expand_user(text: str) -> Path:
    """`text` as a path, with a leading `~` or `~/` read as the home directory."""
    if text == "~" or text.startswith(("~/", "~\\")):
        return home() / text[2:].lstrip("/\\")
    return Path(text)


def project_slug(workspace: Path) -> str:
    """The name of a workspace among the directories of projects: its path with `-` between the parts."""
    text = str(workspace).replace(":", "").replace("\\", "-").replace("/", "-").lstrip("-")
    data = text.encode("utf-8", "replace")
    return text if len(data) <= 200 else data[-200:].decode("utf-8", "ignore").lstrip("-")


def place_dir(place: PlatformDir, *, platform: str, environment: Mapping[str, str], home: Path) -> Path:
    """Where `place` is for a user of `platform` (a `sys.platform`) with that environment and home."""
    chosen = environment.get(place.xdg_variable, "")
    if chosen and Path(chosen).is_absolute():
        return Path(chosen) / APP
    if platform == "win32":
        native = environment.get(place.windows_variable)
        return (Path(native) if native else home / place.windows_home) / place.windows_below / APP
    return home / (place.macos if platform == "darwin" else place.linux) / APP


def _user_dir(place: PlatformDir) -> Path:
    return place_dir(place, platform=sys.platform, environment=os.environ, home=home())
