"""`caliban models`: what a provider offers, asked of the provider itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import anyio

from caliban.cli.help import Parser
from caliban.cli.options import Options
from caliban.compose.provider import build_provider
from caliban.compose.settings import build_settings
from caliban.compose.workspace import build_workspace
from caliban_common.codec import dumps
from caliban_common.text import one_line
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import StreamIdle

ABILITIES = ("tools", "vision", "documents", "thinking", "prompt_cache", "structured_output")
LIST_S = 30.0


def models(arguments: Sequence[str]) -> int:
    """List the models of a provider, one a line, or as JSON."""
    parser = _parser()
    if "-h" in arguments or "--help" in arguments:
        sys.stdout.write(parser.format_help())
        return 0
    said = parser.parse_args(list(arguments))
    options = Options(
        provider=os.environ.get("CALIBAN_PROVIDER") or said.provider,
        settings=said.settings,
        setting_sources=said.setting_sources,
        bare=said.bare,
    )
    found = anyio.run(_listed, options)
    if said.json:
        sys.stdout.write("".join(dumps(_data(model)).decode() + "\n" for model in found))
    else:
        sys.stdout.write(_table(found))
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="caliban models", description="List the models that a provider offers.", allow_abbrev=False
    )
    parser.add_argument("--provider", metavar="NAME", help="default: anthropic")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--settings", metavar="FILE_OR_JSON")
    parser.add_argument("--setting-sources", metavar="CSV")
    parser.add_argument("--bare", action="store_true", help="no settings of user or project")
    return parser


async def _listed(options: Options) -> tuple[ModelInfo, ...]:
    settings = build_settings(options, build_workspace(options))
    door = build_provider(options, settings, os.environ)
    try:
        with anyio.move_on_after(LIST_S):
            return await door.provider.list_models()
        raise StreamIdle(f"{door.provider.name} did not list its models in {LIST_S:.0f} s", idle_s=LIST_S)
    finally:
        with anyio.move_on_after(1, shield=True):
            await door.provider.aclose()


def _table(found: Sequence[ModelInfo]) -> str:
    if not found:
        return "(the provider lists no models)\n"
    width = max(len(model.id) for model in found)
    return "".join(
        f"{one_line(model.id):{width}}  {_window(model.capabilities):>9}  {_abilities(model.capabilities)}\n"
        for model in found
    )


def _window(capabilities: Capabilities) -> str:
    tokens = capabilities.context_tokens
    return "?" if tokens is None else f"{tokens:,}"


def _abilities(capabilities: Capabilities) -> str:
    return ", ".join(name.replace("_", " ") for name in ABILITIES if getattr(capabilities, name))


def _data(model: ModelInfo) -> dict[str, object]:
    able = model.capabilities
    return {
        "id": model.id,
        "display_name": model.display_name,
        "context_tokens": able.context_tokens,
        "max_output_tokens": able.max_output_tokens,
        **{name: getattr(able, name) for name in ABILITIES},
    }
