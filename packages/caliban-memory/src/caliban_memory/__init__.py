"""Instruction files and notes of earlier sessions, as an agent is told of them."""

from __future__ import annotations

from caliban_memory.discovery import find_memory, project_root, summary, walk
from caliban_memory.draft import InstructionDraft, make_draft
from caliban_memory.errors import MemoryFailed, TopicMissing, TopicRefused
from caliban_memory.markdown import Import, find_imports
from caliban_memory.nested import NestedMemory
from caliban_memory.operations import MemoryRow, edit_path, memory_rows
from caliban_memory.render import render, told_paths
from caliban_memory.topics import Topic, Topics
from caliban_memory.values import LeftOut, MemoryCaps, MemoryFile, MemoryOptions, MemorySet

__all__ = [
    "Import",
    "InstructionDraft",
    "LeftOut",
    "MemoryCaps",
    "MemoryFailed",
    "MemoryFile",
    "MemoryOptions",
    "MemoryRow",
    "MemorySet",
    "NestedMemory",
    "Topic",
    "TopicMissing",
    "TopicRefused",
    "Topics",
    "edit_path",
    "find_imports",
    "find_memory",
    "make_draft",
    "memory_rows",
    "project_root",
    "render",
    "summary",
    "told_paths",
    "walk",
]
