"""Programs kept in: one policy for bubblewrap and Seatbelt, and a loopback proxy with a list of hosts."""

from caliban_sandbox.errors import SandboxError, SandboxUnavailable
from caliban_sandbox.policy import FilePolicy, NetworkPolicy, SandboxPolicy

__all__ = [
    "FilePolicy",
    "NetworkPolicy",
    "SandboxError",
    "SandboxPolicy",
    "SandboxUnavailable",
]
