"""What keeps a program from being kept in.

CalibanError
└── SandboxError            a policy that cannot be held, or a program that was refused for it
    └── SandboxUnavailable  this machine has nothing that could hold it
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class SandboxError(CalibanError):
    """The message says which part of the policy cannot be held, and why."""


class SandboxUnavailable(SandboxError):
    """There is no backend, or it is too old, or the kernel refuses what it needs."""
