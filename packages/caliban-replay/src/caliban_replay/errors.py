"""What goes wrong with recordings.

CalibanError
├── ReplayError              a recording cannot be used
│   ├── RecordingMissing     there is no such file
│   ├── RecordingBroken      the file is no recording, or one that cannot be played
│   └── RecordingUnwritable  the file cannot be written, or holds something else
└── ProviderError            what ends a run that is played again
    ├── RecordingEnded       the run goes on where the recording does not
    └── RequestDiffers       a request is not the one that was recorded
"""

from __future__ import annotations

from caliban_common.errors import CalibanError
from caliban_provider.errors import ProviderError


class ReplayError(CalibanError):
    """A recording cannot be used."""


class RecordingMissing(ReplayError):
    """There is no such file."""


class RecordingBroken(ReplayError):
    """The file is no recording, or one that cannot be played."""


class RecordingUnwritable(ReplayError):
    """The file cannot be written, or holds something else."""


class RecordingEnded(ProviderError):
    """The run goes on where the recording does not."""


class RequestDiffers(ProviderError):
    """A request is not the one that was recorded; the message names the first part that differs."""
