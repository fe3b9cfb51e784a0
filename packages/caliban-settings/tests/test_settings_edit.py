"""Rules written into settings files and taken out again: nothing else changes, whatever the file holds."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_settings import SettingsError, load_settings
from caliban_settings.edit.rules import rule_entries, toml_rules, with_rule, without_rule
from caliban_settings.edit.scan import scan
from caliban_settings.edit.store import rule_store
from caliban_settings.errors import SettingsNotWritten
from caliban_settings.parse import parse

PATTERNS = st.sampled_from(["Bash:git *", 'Bash:echo "x" \\*', "Glob", "mcp__*", "Edit:src/**", "Bash:é\t#]"])
ACTIONS = st.sampled_from(["allow", "ask", "deny"])
WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
RULES = st.fixed_dictionaries(
    {"pattern": PATTERNS, "action": ACTIONS}, optional={"comment": WORDS, "reason": WORDS}
)
PIECES = st.sampled_from(
    [
        "",
        "# words [[permissions.rules]]\n",
        "max_turns = 3  # three\n",
        'output_style = """\n[[permissions.rules]]\npattern = "no"\n"""\n',
        "model = '''a ' '' ]'''\n",
        "[permissions]\nenforce = true\n",
        "[[permissions.rules]] # first\npattern = 'Read'\naction = \"allow\"\n",
        "[[permissions.rules]]\naction='deny'\npattern='Bash:\"x\"'\n# after\n\n",
        "[env]\nA = 'b'\n",
        "\n\n",
    ]
)
BUCKETS = st.sampled_from(
    [
        "[permissions]\nallow = ['Read', \"Grep\"]\n",
        "[permissions]\nallow = [\n  'Read', # mine\n  'Grep',\n]\n",
        "[permissions]\nallow = [\n  'Read',\n  'Grep' # last\n]\ndeny = []\n",
        "[permissions]\nallow = []\nask = [ 'WebFetch' ]\n",
        "allow = [ 'Read', ]\n",
        "[permissions]\nrules = [\n  { pattern = 'Read', action = 'ask' },\n]\n",
        "[permissions]\nrules = [{ pattern = 'Read', action = 'ask' }]\n",
        "[[rule]]\ntool = 'Read'\naction = 'ask'\n",
    ]
)
TEXTS = st.one_of(st.lists(PIECES, max_size=6).map("".join), BUCKETS)
SHAPES = st.tuples(TEXTS, st.sampled_from(["", "\ufeff"]), st.booleans(), st.booleans()).map(
    lambda parts: (
        parts[1] + (parts[0].replace("\n", "\r\n") if parts[2] else parts[0].removesuffix("\n" * parts[3]))
    )
)


def read(text: str):
    return rule_entries(parse(text.encode("utf-8"), name="t", toml=True)[0], own_file=True)


@given(SHAPES, RULES)
def test_a_rule_is_read_as_it_was_written_and_taking_it_out_gives_the_bytes_back(text, rule):
    try:
        before = read(text)
        changed = with_rule(text, rule, own_file=True)
    except SettingsNotWritten:
        assert "allow" in text and {"comment", "reason"} & rule.keys()  # there is no place for them
        return
    except SettingsError:
        with pytest.raises(SettingsError):  # pieces that do not go together
            read(text)
        return
    after = read(changed)
    (new,) = (entry for entry in after if entry.rule == rule)
    assert [entry.rule for entry in after if entry != new] == [entry.rule for entry in before]
    assert without_rule(changed, new, own_file=True) == text


@given(st.lists(RULES, max_size=8))
def test_exported_rules_are_read_as_they_were(rules):
    assert [entry.rule for entry in read(toml_rules(rules))] == rules


@given(st.one_of(st.text(), st.text(alphabet="[]{}\"'=,#.ab \n\\"), TEXTS.flatmap(lambda t: st.just(t[:30]))))
def test_a_text_that_is_no_toml_is_an_error_and_never_a_fault(text):
    try:
        scan(text)
    except ValueError:
        pass
    try:
        with_rule(text, {"pattern": "Read", "action": "deny"}, own_file=False)
    except (SettingsError, UnicodeEncodeError):
        pass


def store(tmp_path: Path, scope="project"):
    for name in ("ws", "config", "managed"):
        (tmp_path / name).mkdir(exist_ok=True)
    return rule_store(
        scope, workspace=tmp_path / "ws", config_dir=tmp_path / "config", managed_dir=tmp_path / "managed"
    )


def loaded(tmp_path: Path, scope: str):
    settings = load_settings(
        workspace=tmp_path / "ws",
        config_dir=tmp_path / "config",
        managed_dir=tmp_path / "managed",
        trusted=True,
    )
    return list(settings.rules_by_scope().get(scope, ()))


ALLOW = {"pattern": "Bash:git *", "action": "allow"}
DENY = {"pattern": "Bash:rm *", "action": "deny"}


@pytest.mark.parametrize(
    ("scope", "name", "mode"),
    [
        ("managed", "managed/permissions.toml", 0o644),
        ("user", "config/permissions.toml", 0o600),
        ("project", "ws/.caliban/permissions.toml", 0o600),
        ("local", "ws/.caliban/settings.local.toml", 0o600),
    ],
)
def test_a_new_file_is_made_where_its_scope_is_read(tmp_path, scope, name, mode):
    assert store(tmp_path, scope).add([ALLOW]) == tmp_path / name
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode
    assert loaded(tmp_path, scope) == [ALLOW]


def test_the_command_line_has_no_file(tmp_path):
    with pytest.raises(SettingsNotWritten, match="stand in no file"):
        store(tmp_path, "cli")


def test_where_settings_hold_the_rules_they_go_on_to_and_the_mode_stays(tmp_path):
    kept = store(tmp_path, "user")
    path = tmp_path / "config" / "settings.toml"
    path.write_text("[permissions]\ndefault_mode = 'plan'\n")
    path.chmod(0o640)
    assert kept.add([ALLOW]) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert loaded(tmp_path, "user") == [ALLOW]
    assert sorted(item.name for item in path.parent.iterdir()) == [".settings.toml.lock", "settings.toml"]


def test_a_rule_that_is_there_already_is_not_written_again(tmp_path):
    kept = store(tmp_path)
    kept.add([ALLOW, ALLOW, DENY])
    kept.add([{**DENY, "comment": "again"}])
    assert loaded(tmp_path, "project") == [ALLOW, DENY]


@pytest.mark.parametrize(
    ("scope", "name"), [("user", "config/settings.json"), ("local", "ws/.caliban/settings.local.json")]
)
def test_json_is_read_and_not_written(tmp_path, scope, name):
    kept = store(tmp_path, scope)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text('{"permissions": {"allow": ["Read"]}}')
    (rule,) = kept.rules()
    assert rule.entry.rule == {"pattern": "Read", "action": "allow"}
    for change in (lambda: kept.add([ALLOW]), lambda: kept.remove(rule)):
        with pytest.raises(SettingsNotWritten, match="JSON"):
            change()


def test_links_are_followed_at_home_and_not_out_of_a_workspace(tmp_path):
    user, project = store(tmp_path, "user"), store(tmp_path)
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    (tmp_path / "config" / "permissions.toml").symlink_to(real)
    user.add([ALLOW])
    assert (tmp_path / "config" / "permissions.toml").is_symlink()
    assert "git" in real.read_text()
    (tmp_path / "ws" / ".caliban").mkdir()
    (tmp_path / "ws" / ".caliban" / "permissions.toml").symlink_to(real)
    with pytest.raises(SettingsNotWritten, match="leads out of the workspace"):
        project.add([DENY])
    assert DENY["pattern"] not in real.read_text()


def test_denies_that_hold_beside_another_file_are_listed_and_removed_where_they_stand(tmp_path):
    kept = store(tmp_path, "user")
    settings = tmp_path / "config" / "settings.toml"
    settings.write_text("[permissions]\ndeny = ['WebFetch']\nallow = ['Read']\n")
    (tmp_path / "config" / "permissions.toml").write_text(toml_rules([ALLOW, DENY]))
    rules = kept.rules()
    assert [rule.entry.rule for rule in rules] == loaded(tmp_path, "user")
    kept.remove(rules[0])
    assert "WebFetch" not in settings.read_text()
    assert loaded(tmp_path, "user") == [ALLOW, DENY]


@pytest.mark.parametrize(
    "text", ["max_turns = \n", "\xff", "[permissions]\nallow = 3\n", "permissions = { enforce = true }\n"]
)
def test_a_file_in_the_way_is_left_as_it_is(tmp_path, text):
    kept = store(tmp_path)
    path = tmp_path / "ws" / ".caliban" / "permissions.toml"
    path.parent.mkdir()
    path.write_bytes(text.encode("latin-1"))
    try:
        kept.add([ALLOW])
    except SettingsError:
        assert path.read_bytes() == text.encode("latin-1")
    else:
        assert loaded(tmp_path, "project") == [ALLOW]


def test_processes_that_add_at_once_lose_nothing(tmp_path):
    store(tmp_path)
    program = (
        "import sys; from pathlib import Path; from caliban_settings.edit.store import rule_store\n"
        "top = Path(sys.argv[1])\n"
        "kept = rule_store('project', workspace=top / 'ws', config_dir=top, managed_dir=top)\n"
        "for n in range(15): kept.add([{'pattern': f'Bash:x{sys.argv[2]}-{n}', 'action': 'deny'}])\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(n)]) for n in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    assert len({rule["pattern"] for rule in loaded(tmp_path, "project")}) == 60
