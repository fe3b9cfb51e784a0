"""The face without a person: text, JSON and frames on standard output, one result on every path."""

from caliban_headless.frames import Init
from caliban_headless.input import FrameSource, OnePrompt
from caliban_headless.json import JsonEncoder
from caliban_headless.output import Output
from caliban_headless.run import Driver, Encoder
from caliban_headless.stream import StreamEncoder, StreamOptions
from caliban_headless.summary import Result, Summary
from caliban_headless.text import TextEncoder

__all__ = [
    "Driver",
    "Encoder",
    "FrameSource",
    "Init",
    "JsonEncoder",
    "OnePrompt",
    "Output",
    "Result",
    "StreamEncoder",
    "StreamOptions",
    "Summary",
    "TextEncoder",
]
