"""What files were before each prompt of a conversation, kept so that they can be put back."""

from __future__ import annotations

from caliban_checkpoint.errors import CheckpointError, CheckpointFailed, PathRefused, RestoreRefused
from caliban_checkpoint.listing import GitListing
from caliban_checkpoint.manifest import FileEntry, Manifest, PromptPoint
from caliban_checkpoint.places import SUPPORTED, Roots
from caliban_checkpoint.planning import RestoreStep, forced
from caliban_checkpoint.recorder import CallFacts, CheckpointParts, Recorder, unlisted
from caliban_checkpoint.restore import RestoredFile, Restorer
from caliban_checkpoint.shadow import Shadow, ShadowLimits
from caliban_checkpoint.state import ABSENT, FileState
from caliban_checkpoint.store import CheckpointStore, Limits, workspace_dir

__all__ = [
    "ABSENT",
    "SUPPORTED",
    "CallFacts",
    "CheckpointError",
    "CheckpointFailed",
    "CheckpointParts",
    "CheckpointStore",
    "FileEntry",
    "FileState",
    "GitListing",
    "Limits",
    "Manifest",
    "PathRefused",
    "PromptPoint",
    "Recorder",
    "RestoreRefused",
    "RestoreStep",
    "RestoredFile",
    "Restorer",
    "Roots",
    "Shadow",
    "ShadowLimits",
    "forced",
    "unlisted",
    "workspace_dir",
]
