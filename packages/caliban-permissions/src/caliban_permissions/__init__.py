"""Decide which tool calls may run: rules, permission modes, and a shell grammar of our own."""

from caliban_permissions.engine import Engine
from caliban_permissions.errors import PermissionsError, RuleError
from caliban_permissions.explanation import Explanation, MatchedRule, Part
from caliban_permissions.remedy import RemedyWords
from caliban_permissions.rules.rule import Rule, RuleSet, Scope, parse_rules
from caliban_permissions.walk import explain

__all__ = [
    "Engine",
    "Explanation",
    "MatchedRule",
    "Part",
    "PermissionsError",
    "RemedyWords",
    "Rule",
    "RuleError",
    "RuleSet",
    "Scope",
    "explain",
    "parse_rules",
]
