"""Programs kept in: one policy for bubblewrap and Seatbelt, and a loopback proxy with a list of hosts."""

from caliban_sandbox.denied import SandboxDenial
from caliban_sandbox.errors import SandboxError, SandboxUnavailable
from caliban_sandbox.policy import FilePolicy, LimitPolicy, NetworkPolicy, SandboxPolicy
from caliban_sandbox.sandbox import Sandbox, SandboxHost, SandboxState

__all__ = [
    "FilePolicy",
    "LimitPolicy",
    "NetworkPolicy",
    "Sandbox",
    "SandboxDenial",
    "SandboxError",
    "SandboxHost",
    "SandboxPolicy",
    "SandboxState",
    "SandboxUnavailable",
]
