"""Where consents are kept, and the folders that none can be given for."""

from __future__ import annotations

from pathlib import Path

from caliban_common.paths import data_dir, home
from caliban_trust import ConsentsUnusable, TrustStore


def store_path() -> Path:
    """The file with the consents of this person."""
    return data_dir() / "trust" / "projects.json"


def trust_store(workspace: Path) -> TrustStore:
    """The consents. Raises `ConsentsUnusable` where the workspace itself would hold them."""
    path = store_path()
    if _real(path).is_relative_to(_real(workspace)):
        raise ConsentsUnusable(
            f"{path} lies in the workspace, which could bring it along: no project is trusted"
        )
    return TrustStore(path)


def refused_root(workspace: Path) -> str | None:
    """What `workspace` is, where trust would be for more than a project (security.md TM4)."""
    real, own = _real(workspace), _real(home())
    if real == real.parent:
        return "a root of the file system"
    if real == own:
        return "your home"
    return "what your home lies in" if real in own.parents else None


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path.absolute()
