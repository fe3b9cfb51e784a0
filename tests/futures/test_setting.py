"""A further setting is a row of the schema, and a bridge that takes it to the options it is meant for."""

from caliban_agent_core.options import AgentOptions
from caliban_settings.key import COUNT, Key
from caliban_settings.leaves import read_leaves, schema_tree
from caliban_settings.merge import merge, nested
from caliban_settings.schema import SCHEMA
from caliban_settings.source import read_overlay

ROW = Key(path="agent_limits.turns", form=COUNT, doc="How many turns a run may take.", default=50)


def bridge(said):
    """What the setting means to the agent."""
    limits = said.get("agent_limits") or {}
    return AgentOptions(max_turns=limits.get("turns", ROW.default))


def read(text):
    """What one scope says under the schema with the row, and what it is warned of."""
    leaves, warnings = read_leaves(read_overlay(text), schema_tree((*SCHEMA, ROW)))
    return nested(merge([leaves])), warnings


def test_a_row_is_read_checked_and_reaches_its_target():
    settings, warnings = read('{"agent_limits": {"turns": 3}}')
    assert (bridge(settings).max_turns, warnings) == (3, [])
    assert bridge({}).max_turns == 50


def test_what_the_row_does_not_say_is_told():
    assert read('{"agent_limits": {"turn": 3}}')[1] != []
