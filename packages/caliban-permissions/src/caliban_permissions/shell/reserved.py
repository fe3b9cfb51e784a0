"""Words that mean something to the shell where a command may begin."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

RESERVED = frozenset(
    "! { } [[ ]] if then elif else fi for while until do done case esac in select function time coproc".split()
)
