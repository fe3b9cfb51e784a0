"""What files were before each prompt of a conversation, kept so that they can be put back."""

from __future__ import annotations

from caliban_checkpoint.errors import CheckpointError, CheckpointFailed, PlaceRefused, RestoreRefused
from caliban_checkpoint.listing import GitListing
from caliban_checkpoint.manifest import FileEntry, Manifest, PromptPoint
from caliban_checkpoint.places import SUPPORTED, Roots
from caliban_checkpoint.planning import RestoreStep, forced
from caliban_checkpoint.recorder import CallFacts, CheckpointParts, CheckpointRecorder, paired
from caliban_checkpoint.restore import RestoredFile, Restorer
from caliban_checkpoint.shadow import Shadow, ShadowLimits
from caliban_checkpoint.state import ABSENT, FileState
from caliban_checkpoint.store import CheckpointLimits, CheckpointStore, workspace_dir

__all__ = [
    "ABSENT",
    "SUPPORTED",
    "CallFacts",
    "CheckpointError",
    "CheckpointFailed",
    "CheckpointLimits",
    "CheckpointParts",
    "CheckpointRecorder",
    "CheckpointStore",
    "FileEntry",
    "FileState",
    "GitListing",
    "Manifest",
    "PlaceRefused",
    "PromptPoint",
    "RestoreRefused",
    "RestoreStep",
    "RestoredFile",
    "Restorer",
    "Roots",
    "Shadow",
    "ShadowLimits",
    "forced",
    "paired",
    "workspace_dir",
]
