"""`caliban router debug`: which routes a request would take, without making it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from caliban.cli.help import Parser
from caliban.cli.options import ModelOptions, Options, SettingsOptions
from caliban.commands.scope import model_inputs, report
from caliban.compose.routes import MAIN, capabilities_of, read_routing
from caliban.compose.workspace import build_workspace
from caliban.stdio import write_out
from caliban_common.text import clean
from caliban_model_router import PURPOSES, Requirements
from caliban_model_router.debug import explain, render
from caliban_model_router.effort import LEVELS


def router(arguments: Sequence[str]) -> int:
    """Print the candidates for a made-up request, their state, and the knobs of their effort."""
    parser = _parser()
    if not arguments or "-h" in arguments or "--help" in arguments:
        return write_out(parser.format_help().encode())
    said = parser.parse_args(list(arguments))
    options = Options(
        model=ModelOptions(
            config=said.config,
            provider=said.provider or os.environ.get("CALIBAN_PROVIDER") or None,
            model=said.model,
            fallback_model=said.fallback_model,
        ),
        settings=SettingsOptions(
            settings=said.settings, setting_sources=said.setting_sources, trust_project=said.trust_project
        ),
    )
    inputs = model_inputs(options, build_workspace(said.workspace))
    routing = read_routing(inputs, report)
    required = Requirements(vision=said.has_vision, tool_use="basic" if said.has_tools else "none")
    explanation = explain(
        routing.config,
        said.purpose,
        required,
        capabilities_of=capabilities_of(routing.config, inputs, report),
        effort=said.effort,
    )
    text = f"from {routing.source}\n{render(explanation, effort_table=said.effort_table)}"
    return write_out(clean(text).encode())


def _parser() -> Parser:
    parser = Parser(
        prog="caliban router",
        description="Show which routes a request would take: + is a candidate, - is none, and why.",
        allow_abbrev=False,
    )
    parser.add_argument("verb", choices=("debug",), help="print the candidates for a made-up request")
    parser.add_argument("--purpose", choices=PURPOSES, default=MAIN, help=f"default: {MAIN}")
    parser.add_argument("--has-vision", action="store_true", help="the request has pictures")
    parser.add_argument("--has-tools", action="store_true", help="the request offers tools")
    parser.add_argument("--effort", choices=LEVELS, help="default: the route's")
    parser.add_argument("--effort-table", action="store_true", help="the knobs of every level")
    parser.add_argument("--config", metavar="PATH", help="in place of the caliban.toml that would be found")
    for flag in ("--provider", "--model", "--fallback-model"):
        parser.add_argument(flag, metavar="NAME")
    parser.add_argument("--workspace", metavar="DIR", help="default: here")
    parser.add_argument("--settings", metavar="FILE_OR_JSON")
    parser.add_argument("--setting-sources", metavar="CSV")
    parser.add_argument("--trust-project", action="store_true")
    return parser
