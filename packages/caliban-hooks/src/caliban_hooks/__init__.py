"""Hooks from settings: programs, addresses and models that are asked or told at the events of a session."""

from caliban_hooks.agent import Investigations
from caliban_hooks.command import Programs
from caliban_hooks.configured import ConfiguredHooks, HookParts
from caliban_hooks.errors import BadHook, HookFailed, HooksError
from caliban_hooks.events import EVENTS, EventKind
from caliban_hooks.http import Addresses, read_patterns
from caliban_hooks.mcp import ServerCalls
from caliban_hooks.payload import EventContext
from caliban_hooks.ports import AgentTask, Dialect, PostAnswer, PostRequest, ServerTools
from caliban_hooks.prompt import Questions
from caliban_hooks.read import read_hooks
from caliban_hooks.spec import HookSpec

__all__ = [
    "EVENTS",
    "Addresses",
    "AgentTask",
    "BadHook",
    "ConfiguredHooks",
    "Dialect",
    "EventContext",
    "EventKind",
    "HookFailed",
    "HookParts",
    "HookSpec",
    "HooksError",
    "Investigations",
    "PostAnswer",
    "PostRequest",
    "Programs",
    "Questions",
    "ServerCalls",
    "ServerTools",
    "read_hooks",
    "read_patterns",
]
