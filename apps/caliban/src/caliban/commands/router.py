"""`caliban router debug`: which routes a request would take, without making it."""

from __future__ import annotations

from caliban.cli.invocation import Invocation
from caliban.commands.inputs import model_inputs
from caliban.commands.report import report
from caliban.compose.routes import capabilities_of, read_routing
from caliban.stdio import print_text
from caliban_model_router import Requirements
from caliban_model_router.debug import explain, render


def router(invocation: Invocation) -> int:
    """Print the candidates for a made-up request, their state, and the knobs of their effort."""
    options, values = invocation.options, invocation.values
    inputs = model_inputs(options)
    routing = read_routing(inputs, report)
    required = Requirements(vision=values["has_vision"], tool_use="basic" if values["has_tools"] else "none")
    explanation = explain(
        routing.config,
        values["purpose"],
        required,
        capabilities_of=capabilities_of(routing, inputs, report),
        effort=values["effort"],
    )
    table = render(explanation, effort_table=values["effort_table"])
    text = f"from {routing.source}\n{table}"
    return print_text(text)
