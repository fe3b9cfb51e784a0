from __future__ import annotations

from pathlib import Path

import pytest

from caliban_common import paths
from caliban_common.paths import CACHE, CONFIG, DATA, PlatformDir, expand_user, place_dir, project_slug

HOME = Path("/home/ada")


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, [".config", ".local/share", ".cache"]),
        ("darwin", {}, ["Library/Application Support"] * 2 + ["Library/Caches"]),
        ("win32", {}, ["AppData/Roaming", "AppData/Local", "AppData/Local/caliban/cache"]),
        (
            "win32",
            {"APPDATA": "/r", "LOCALAPPDATA": "/l"},
            ["/r", "/l", "/l/caliban/cache"],
        ),
        (
            "darwin",
            {"XDG_CONFIG_HOME": "/x", "XDG_DATA_HOME": "/y", "XDG_CACHE_HOME": "relative"},
            ["/x", "/y", "Library/Caches"],
        ),
    ],
)
def test_each_kind_of_directory_lies_where_its_system_puts_it(
    platform: str, environment: dict[str, str], expected: list[str]
) -> None:
    def where(place: PlatformDir) -> Path:
        return place_dir(place, platform=platform, environment=environment, home=HOME)

    assert list(map(where, (CONFIG, DATA, CACHE))) == [HOME / path / "caliban" for path in expected]


def test_absolute_xdg_variables_are_honoured_and_relative_ones_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/x/config")
    monkeypatch.setenv("XDG_DATA_HOME", "/x/data")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x/cache")
    directories = [paths.config_dir(), paths.data_dir(), paths.cache_dir()]
    assert directories == [Path("/x", kind, "caliban") for kind in ("config", "data", "cache")]
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert paths.cache_dir().is_absolute()


def test_a_tilde_is_the_home_directory_only_where_it_stands_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert paths.home() == tmp_path
    cases = ["~", "~/a/b", "~//etc/passwd", "~root/a", "a/~", "/a", ""]
    home = str(tmp_path)
    expected = [home, f"{home}/a/b", f"{home}/etc/passwd", "~root/a", "a/~", "/a", ""]
    assert list(map(expand_user, cases)) == list(map(Path, expected))


def test_the_administrator_has_a_directory_of_their_own() -> None:
    assert paths.managed_settings_dir().is_absolute()


@pytest.mark.parametrize(
    ("path", "slug"),
    [("/Users/jf/dev/caliban", "Users-jf-dev-caliban"), ("/", ""), ("/a b/c", "a b-c")],
)
def test_the_directory_of_a_project_is_called_by_its_path(path, slug):
    assert project_slug(Path(path)) == slug


def test_a_long_path_still_makes_a_name_of_a_file():
    assert len(project_slug(Path("/" + "ü/" * 300)).encode()) <= 200
