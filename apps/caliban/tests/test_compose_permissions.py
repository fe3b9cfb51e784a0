"""The mode and the rules of a run, by who says so."""

import pytest

from caliban.cli.options import PermissionOptions
from caliban.compose.permissions import build_permissions, build_rules, resolve_mode
from caliban.errors import ConfigError, UsageError
from caliban_tools_builtin import builtin_specs

PLAN = '[permissions]\ndefault_mode = "plan"\n'
ENFORCED = "[permissions]\nenforce = true\n"
BASH = next(spec for spec in builtin_specs() if spec.name == "Bash")


@pytest.mark.parametrize(
    ("said", "flags", "mode"),
    [
        ("", {}, "default"),
        (PLAN, {}, "plan"),
        (PLAN, {"permission_mode": "acceptEdits"}, "acceptEdits"),
        (PLAN, {"no_permissions": True}, "disabled"),
        (
            "",
            {"permission_mode": "bypassPermissions", "allow_dangerously_skip_permissions": True},
            "bypassPermissions",
        ),
        ("", {"permission_mode": "auto", "disable_auto_mode": True}, "auto"),
        ("", {"permission_mode": "auto"}, "auto"),
    ],
)
def test_the_mode_is_that_of_the_flag_then_of_settings_then_the_default(settings, said, flags, mode):
    assert resolve_mode(PermissionOptions(**flags), settings(said)) == mode


@pytest.mark.parametrize(
    ("managed", "flags", "error"),
    [
        ("", {"permission_mode": "yolo"}, UsageError),
        ("", {"permission_mode": "bypassPermissions"}, UsageError),
        (ENFORCED, {"no_permissions": True}, ConfigError),
        (ENFORCED, {"allow_dangerously_skip_permissions": True}, ConfigError),
        (
            ENFORCED,
            {"permission_mode": "bypassPermissions", "allow_dangerously_skip_permissions": True},
            ConfigError,
        ),
    ],
)
def test_a_mode_that_may_not_be_is_refused(settings, managed, flags, error):
    with pytest.raises(error):
        resolve_mode(PermissionOptions(**flags), settings(managed=managed))


def test_the_flags_stand_above_the_rules_of_settings(settings, work):
    merged = settings('[permissions]\nallow = ["Bash:git *"]\n')
    call = {"command": "git status"}
    plain = build_permissions(PermissionOptions(), merged, work, trusted=False)
    denied = build_permissions(PermissionOptions(deny=("Bash:git *",)), merged, work, trusted=False)
    assert (plain.decide(BASH, call).action, denied.decide(BASH, call).action) == ("allow", "deny")


def test_a_rule_of_a_flag_that_matches_nothing_is_wrong_usage(settings):
    with pytest.raises(UsageError, match="--allow 'Bash\\(' matches nothing"):
        build_rules(PermissionOptions(allow=("Bash(",)), settings(), trusted=False)
