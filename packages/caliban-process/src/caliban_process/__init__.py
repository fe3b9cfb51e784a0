"""Other programs, run: started, bounded, read, and ended with all that they have started."""

from caliban_process.command import Command, Completed
from caliban_process.errors import InputClosed, NotStarted, OutputTooLarge, ProcessError
from caliban_process.output import CapturedOutput, OutputLimit
from caliban_process.runner import Runner
from caliban_process.wrap import Wrapper

__all__ = [
    "CapturedOutput",
    "Command",
    "Completed",
    "InputClosed",
    "NotStarted",
    "OutputLimit",
    "OutputTooLarge",
    "ProcessError",
    "Runner",
    "Wrapper",
]
