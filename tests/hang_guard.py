"""How long a test waits for what must come, so that one that hangs ends at all."""

from __future__ import annotations

HANG_S = 300.0
"""Far above what the slowest machine takes: what passes or fails never depends on it."""
