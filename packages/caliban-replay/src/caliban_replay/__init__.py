"""Recordings of runs: written, read, and played again through the same loop."""

from caliban_replay.difference import Difference, first_difference
from caliban_replay.errors import (
    RecordingBroken,
    RecordingEnded,
    RecordingMissing,
    RecordingUnwritable,
    ReplayError,
    RequestDiffers,
)
from caliban_replay.lines import Scene
from caliban_replay.provider import ReplayingProvider, SwappedProvider
from caliban_replay.recorder import RecordingProvider, RecordingRules, RecordingTools
from caliban_replay.recording import Recording, load_recording
from caliban_replay.replayer import Replay, ReplayedRules, ReplayOptions
from caliban_replay.tape import Tape
from caliban_replay.tools import ReplayingTools

__all__ = [
    "Difference",
    "Recording",
    "RecordingBroken",
    "RecordingEnded",
    "RecordingMissing",
    "RecordingProvider",
    "RecordingRules",
    "RecordingTools",
    "RecordingUnwritable",
    "Replay",
    "ReplayError",
    "ReplayOptions",
    "ReplayedRules",
    "ReplayingProvider",
    "ReplayingTools",
    "RequestDiffers",
    "Scene",
    "SwappedProvider",
    "Tape",
    "first_difference",
    "load_recording",
]
