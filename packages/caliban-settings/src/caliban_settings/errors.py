"""What can be wrong with settings.

    CalibanError
    └── SettingsError   a file cannot be read, is not what its format promises, or says what no setting may
        ├── RulesNotWritten     a file is not changed: its form does not allow it, or it is not ours to write
        └── ServersNotWritten   the same, for a file with MCP servers

Settings that are merely unknown, untrusted or deprecated are warnings, not errors.
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class SettingsError(CalibanError):
    """The settings cannot be used; the message begins with the file and the line where they are known."""


class RulesNotWritten(SettingsError):
    """A file was left as it is, and why."""


class ServersNotWritten(SettingsError):
    """A file with MCP servers was left as it was, and why."""
