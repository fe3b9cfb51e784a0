"""A further flag is a row, and the field of `Options` that holds what it says."""

import pytest

from caliban.cli.completion import SCRIPTS
from caliban.cli.environment import variables
from caliban.cli.flag import Group, flag, positive
from caliban.cli.groups import GROUPS
from caliban.cli.help import build_parser
from caliban.cli.parser import parse
from caliban.errors import UsageError

ROW = flag("--most", variable="CALIBAN_MOST", dest="max_turns", type=positive, metavar="N", help="at most")


def with_row(group):
    """The group of the model with another row, which says what `--max-turns` says."""
    kept = tuple(row for row in group.flags if row.field != ROW.field)
    return Group(group.name, group.title, (*kept, ROW)) if group.name == "model" else group


WITH_ROW = tuple(map(with_row, GROUPS))


@pytest.mark.parametrize(
    ("arguments", "environ", "turns"),
    [(["--most", "3"], {"CALIBAN_MOST": "5"}, 3), ([], {"CALIBAN_MOST": "5"}, 5), ([], {}, None)],
    ids=["flag", "environment", "neither"],
)
def test_a_row_is_parsed_with_its_variable(arguments, environ, turns):
    assert parse([*arguments, "hi"], environ, WITH_ROW).model.max_turns == turns


def test_a_row_is_checked_helped_and_completed():
    with pytest.raises(UsageError, match="CALIBAN_MOST must be a whole number above 0"):
        parse(["hi"], {"CALIBAN_MOST": "many"}, WITH_ROW)
    assert "--most N" in build_parser(WITH_ROW).format_help()
    assert variables(WITH_ROW)["CALIBAN_MOST"] == "the same as --most"
    assert all("most" in script(WITH_ROW) for script in SCRIPTS.values())
