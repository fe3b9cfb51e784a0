"""What keeps a checkpoint from being kept, or from being put back.

CalibanError
└── CheckpointError
    ├── PlaceRefused         no checkpoint has this path: outside of the roots, through a link, of git's own
    ├── CheckpointFailed    the store, or a file of the workspace, cannot be read or written
    └── RestoreRefused      nothing was put back; the message says why
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class CheckpointError(CalibanError):
    """A checkpoint cannot be had as asked."""


class PlaceRefused(CheckpointError):
    """A path lies where nothing is kept or put back."""


class CheckpointFailed(CheckpointError):
    """The system refuses to read or to write."""


class RestoreRefused(CheckpointError):
    """Nothing was put back."""
