"""The face without a person: text, JSON and frames on standard output, one result on every path.

The encoders are in modules of their own, one a format: only the one that is asked for is loaded.
"""

from caliban_headless.frames import Init
from caliban_headless.input import FrameSource
from caliban_headless.output import Output
from caliban_headless.run import Driver, OutputEncoder
from caliban_headless.source import OnePrompt

__all__ = ["Driver", "FrameSource", "Init", "OnePrompt", "Output", "OutputEncoder"]
