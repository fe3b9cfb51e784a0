"""The policy as a profile of macOS's Seatbelt, with parameters in the place of paths; never run by us."""

from caliban_sandbox.seatbelt.grammar import profile_faults
from caliban_sandbox.seatbelt.profile import SeatbeltProfile, seatbelt_profile

__all__ = ["SeatbeltProfile", "profile_faults", "seatbelt_profile"]
