"""The small builders: the directory, the settings that hold, and the tools on offer."""

import pytest

from caliban.cli.options import Options, PermissionOptions, SettingsOptions, WorkspaceOptions
from caliban.compose.board import Board
from caliban.compose.host import Host
from caliban.compose.live import LiveSettings
from caliban.compose.permissions import build_permissions
from caliban.compose.project import build_settings, open_project
from caliban.compose.tools import ToolInputs, build_tools
from caliban.compose.workspace import build_workspace
from caliban.errors import UsageError
from caliban_common.tool import FilteredTools
from caliban_images import MediaLimits
from caliban_process import Runner


def test_the_workspace_is_the_directory_that_was_named_or_the_current_one(work, monkeypatch):
    (work.parent / "link").symlink_to(work)
    monkeypatch.chdir(work)
    assert build_workspace(str(work.parent / "link")) == build_workspace(None) == work.resolve()


@pytest.mark.parametrize(("name", "why"), [("gone", "does not exist"), ("file", "is not a directory")])
def test_a_workspace_that_is_none_is_wrong_usage(work, name, why):
    (work / "file").write_text("")
    with pytest.raises(UsageError, match=why):
        build_workspace(str(work / name))


@pytest.mark.parametrize(
    ("options", "turns"),
    [
        (SettingsOptions(), 3),
        (SettingsOptions(settings='{"max_turns": 5}'), 5),
        (SettingsOptions(bare=True), None),
        (SettingsOptions(bare=True, settings='{"max_turns": 5}'), 5),
        (SettingsOptions(setting_sources="project,local"), None),
        (SettingsOptions(setting_sources="user", bare=True), 3),
    ],
)
def test_settings_are_those_of_the_files_that_flags_leave_below_the_one_that_they_give(
    home, work, options, turns
):
    (home / "caliban").mkdir()
    (home / "caliban" / "settings.toml").write_text("max_turns = 3\n")
    assert build_settings(options, work).get("max_turns") == turns


def test_a_tool_that_rules_deny_altogether_is_not_offered(settings, work, notices):
    def names(*, no_tools=False, **flags):
        permissions = build_permissions(PermissionOptions(**flags), settings(), work, trusted=False)
        options = Options(workspace=WorkspaceOptions(no_tools=no_tools), settings=SettingsOptions(bare=True))
        source = build_tools(
            ToolInputs(
                options=options,
                settings=settings(),
                live=LiveSettings(options, work, open_project(options.settings, work)),
                workspace=work,
                permissions=permissions,
                host=Host(environ={}, runner=Runner()),
                board=Board(permissions),
                tasks=None,
                report=notices.append,
                media=MediaLimits,
            )
        )
        return {tool.spec.name for tool in FilteredTools(source, permissions.offers).tools()}

    assert names() - names(deny=("Bash",)) == {"Bash"}
    assert (names(no_tools=True), notices) == (set(), [])
