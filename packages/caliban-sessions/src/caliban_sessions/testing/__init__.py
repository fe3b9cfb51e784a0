"""For who keeps sessions elsewhere: what every store has to do, as checks to run."""

from caliban_sessions.testing.conformance import RECORD_CHECKS, check_records

__all__ = ["RECORD_CHECKS", "check_records"]
