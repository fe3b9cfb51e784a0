"""What can go wrong with the servers of a run.

CalibanError
└── ServersError            the root of this package
    ├── ServerMisconfigured    an entry that cannot be used as it is written
    ├── ServerMissing      a server that had to be there is not
    └── PinsUnusable       what was accepted of servers before cannot be read, or not be kept
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class ServersError(CalibanError):
    """The root of what can go wrong with servers."""


class ServerMisconfigured(ServersError):
    """An entry that cannot be used as it is written; the message names what of it."""


class ServerMissing(ServersError):
    """A server that had to be there is not."""


class PinsUnusable(ServersError):
    """What was accepted of servers before cannot be read, or not be kept."""
