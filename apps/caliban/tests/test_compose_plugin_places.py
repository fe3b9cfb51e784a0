"""Places that nothing may come from are blocked by every road to them."""

from __future__ import annotations

from typing import Any

import pytest

from caliban.compose.plugins.policy import source_problem
from caliban_plugins import PluginRecords
from caliban_plugins.source import PluginSource, git_source

SPELLINGS = (
    "evil/Plugins",
    "https://github.com/evil/plugins",
    "https://github.com/evil/plugins.git",
    "https://GitHub.com/Evil/plugins/",
    "https://github.com:443/evil//plugins",
    "https://github.com./evil/%70lugins",
    "ssh://git@github.com/evil/plugins.git",
    "ssh://git@github.com:22/evil/plugins",
    "git@github.com:evil/plugins.git",
)


class Lists(dict[str, Any]):
    layers: dict[str, Any] = {}  # noqa: RUF012 - as settings have them


@pytest.mark.parametrize("listed", SPELLINGS)
@pytest.mark.parametrize("asked", SPELLINGS)
def test_a_repository_that_is_blocked_is_so_by_every_name(listed: str, asked: str) -> None:
    settings: Any = Lists({"plugins.marketplaces.blocked": [listed]})
    words = source_problem(git_source(asked), "", settings, {}, PluginRecords())
    assert "plugins.marketplaces.blocked" in words


@pytest.mark.parametrize(
    "source",
    [
        git_source("evil/plugins-two"),
        git_source("https://gitlab.com/evil/plugins"),
        PluginSource(kind="folder", at="/evil/plugins"),
        PluginSource(kind="npm", at="@evil/plugins"),
    ],
)
def test_what_is_another_place_is_not(source: PluginSource) -> None:
    settings: Any = Lists({"plugins.marketplaces.blocked": ["evil/plugins"]})
    assert source_problem(source, "", settings, {}, PluginRecords()) == ""
