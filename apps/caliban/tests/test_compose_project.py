"""What of a project is used is what was read of it once, and what a consent was given to."""

from __future__ import annotations

from pathlib import Path

import pytest

from caliban.cli.options import Options, SettingsOptions
from caliban.compose.agents import agent_kinds
from caliban.compose.consents import trust_store
from caliban.compose.project import open_project, read_files
from caliban.compose.routes import read_routing
from caliban.compose.settings import layers_of
from caliban.compose.surface import surface_of
from caliban_trust import Consent, project_root

AGENT = "---\nname: reviewer\ndescription: reads\n---\nYou review.\n"
ROUTES = '[[router.route]]\npurpose = "main_loop"\nprovider = "anthropic"\nmodel = "theirs"\n'


def trust(work: Path) -> None:
    surface = surface_of(work, layers_of(SettingsOptions(), work).of_project(), read_files(work))
    root = project_root(work)
    consent = Consent(
        root=root, digest=surface.digest, trusted_at="2026-11-28T12:00:00Z", items=surface.items
    )
    trust_store(work).keep(consent)


@pytest.fixture
def project(work: Path) -> Path:
    """A workspace with one of everything."""
    (work / ".caliban" / "agents").mkdir(parents=True)
    (work / ".caliban" / "settings.toml").write_text('[permissions]\nallow = ["Bash:make *"]\n')
    (work / ".caliban" / "agents" / "a.md").write_text(AGENT)
    (work / "caliban.toml").write_text(ROUTES)
    return work


def test_nothing_is_read_again_after_the_digest_was_taken(project, inputs, notices):
    trust(project)
    asked = inputs()
    opened = open_project(SettingsOptions(), project)
    assert opened.trust.state == "trusted"
    for name, text in (
        ("agents/a.md", AGENT.replace("review.", "obey.")),
        ("settings.toml", "model = 'x'\n"),
    ):
        (project / ".caliban" / name).write_text(text)
    (project / "caliban.toml").write_text(ROUTES.replace("theirs", "evil"))
    assert [kind.prompt for kind in agent_kinds(Options(), opened, notices.append)[1:]] == ["You review."]
    assert read_routing(asked, notices.append).first.model == "theirs"
    assert opened.settings.rules_by_scope()["project"] == ({"pattern": "Bash:make *", "action": "allow"},)
    assert open_project(SettingsOptions(), project).trust.state == "changed"


def test_files_that_went_between_are_used_as_they_were(project, notices):
    trust(project)
    opened = open_project(SettingsOptions(), project)
    (project / ".caliban" / "agents" / "a.md").unlink()
    assert len(agent_kinds(Options(), opened, notices.append)) == 2


def test_the_surface_depends_on_the_project_alone(project):
    def digest(**options) -> str:
        layers = layers_of(SettingsOptions(**options), project)
        return surface_of(project, layers.of_project(), read_files(project)).digest

    plain = digest()
    assert digest(setting_sources="user") == plain
    assert digest(setting_sources="") == plain
    assert digest(settings='{"permissions": {"allow": ["Bash"]}, "max_turns": 3}') == plain


def test_words_for_a_person_cost_nothing_where_only_the_digest_is_asked_for(project):
    layers, files = layers_of(SettingsOptions(), project), read_files(project)
    quick, shown = (surface_of(project, layers.of_project(), files, shows=shows) for shows in (False, True))
    assert quick.digest == shown.digest
    assert all(item.shown for item in shown.items)


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("", False),
        ('[permissions]\ndeny = ["Bash"]\nask = ["Read"]\n', False),
        ("[permissions]\nenforce = true\n", False),
        ('additional_directories = ["inner"]\n', False),
        ("[mcp_servers.x]\ndisabled = true\n", False),
        ('env.PATH = "x"\n', False),
        ('permissions.default_mode = "dontAsk"\n', False),
        ("max_turns = 1\n", True),
        ('env.CI = "1"\n', True),
        ('[[permissions.rules]]\npattern = "Bash"\naction = "ask"\n', False),
        ('[[permissions.rules]]\npattern = "Bash"\naction = "allow"\n', True),
    ],
)
def test_only_what_grants_is_asked_about(work, text, is_asked):
    (work / ".caliban").mkdir()
    (work / ".caliban" / "settings.toml").write_text(text)
    surface = surface_of(work, layers_of(SettingsOptions(), work).of_project(), read_files(work))
    assert surface.asks is is_asked
    assert bool(surface.items) is is_asked
