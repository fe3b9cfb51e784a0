"""The face without a person: text, JSON and frames on standard output, one result on every path."""

from caliban_headless.frames import Init
from caliban_headless.input import FrameSource, OnePrompt
from caliban_headless.json import JsonEncoder
from caliban_headless.output import Output
from caliban_headless.run import Driver, OutputEncoder
from caliban_headless.stream import StreamEncoder, StreamOptions
from caliban_headless.text import TextEncoder

__all__ = [
    "Driver",
    "FrameSource",
    "Init",
    "JsonEncoder",
    "OnePrompt",
    "Output",
    "OutputEncoder",
    "StreamEncoder",
    "StreamOptions",
    "TextEncoder",
]
