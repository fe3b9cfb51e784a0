"""Which Caliban this is."""

from __future__ import annotations

from pathlib import Path

VERSION = "0.1.0"
STAMP = "commit.txt"


def version_line() -> str:
    """The line of `--version`: the version, and the commit it was built from where that is known."""
    commit = _commit()
    return f"caliban {VERSION} ({commit})" if commit else f"caliban {VERSION}"


def _commit() -> str:
    """The commit from the stamp that a build leaves in the package, else from the checkout we run in."""
    here = Path(__file__).parent
    try:
        return (here / STAMP).read_text("ascii").strip()[:12]
    except (OSError, UnicodeError):
        pass
    git = here.parents[3] / ".git"
    try:
        head = (git / "HEAD").read_text("ascii").strip()
        if not head.startswith("ref: "):
            return head[:12]
        return _ref(git, head.removeprefix("ref: "))[:12]
    except (OSError, UnicodeError):
        return ""


def _ref(git: Path, name: str) -> str:
    try:
        return (git / name).read_text("ascii").strip()
    except OSError:
        packed = (git / "packed-refs").read_text("utf-8")
        return next((line.split()[0] for line in packed.splitlines() if line.endswith(f" {name}")), "")
