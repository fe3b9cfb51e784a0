"""From the name of a theme to its colours on this terminal: built-in ones, and files of a person's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_tui.errors import ThemeError
from caliban_tui.terminal.caps import TerminalCaps
from caliban_tui.theme.colour import ColourDepth, colour, parameters
from caliban_tui.theme.palettes import PALETTES, palette
from caliban_tui.theme.theme import ROLES, Theme

ATTRIBUTES: Final = ("bold", "dim", "italic", "underline", "reverse", "strike")
_CODES: Final = ("1", "2", "3", "4", "7", "9")
THEME_NAMES: Final = ("auto", *PALETTES)
MAX_FILE_BYTES: Final = 1 << 20
_EXPECTED: Final = (
    "words out of bold, dim, italic, underline, reverse, strike and a colour (#rrggbb, 0 to 255 or a name "
    "like bright-red), with another colour behind 'on' for the background"
)


class TerminalKind(Struct, frozen=True, kw_only=True):
    """What the environment says of a terminal."""

    depth: ColourDepth = "16"
    unicode: bool = True
    links: bool = True
    is_dumb: bool = False
    is_dark: bool = True


def terminal_kind(env: Mapping[str, str]) -> TerminalKind:
    """What `env` says of the terminal.

    NO_COLOR (not empty) takes colours away, COLORTERM and TERM say how many there are, COLORFGBG which
    background.
    """
    term = env.get("TERM", "")
    is_dumb = term in ("", "dumb")
    depth: ColourDepth = "16"
    if env.get("NO_COLOR") or is_dumb:
        depth = "none"
    elif env.get("COLORTERM", "") in ("truecolor", "24bit") or term.endswith("-direct"):
        depth = "true"
    elif "256" in term or env.get("TERM_PROGRAM") == "Apple_Terminal":
        depth = "256"
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    is_dark = not (background.isascii() and background.isdigit() and int(background[:3]) in (7, 15))
    unicode = _encoding(env).lower().replace("-", "").replace("_", "") in (
        "utf8",
        "utf16",
        "utf32",
        "gb18030",
    )
    return TerminalKind(
        depth=depth, unicode=unicode, links=not is_dumb and term != "linux", is_dumb=is_dumb, is_dark=is_dark
    )


def _encoding(env: Mapping[str, str]) -> str:
    """The encoding of the locale; UTF-8 where none is named, for containers rarely name one."""
    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    if locale in ("C", "POSIX"):
        return "ascii"
    return locale.partition(".")[2].partition("@")[0] or "utf-8"


def choose_theme(
    name: str,
    kind: TerminalKind,
    caps: TerminalCaps | None = None,
    folders: Sequence[Path] = (),
    files: Mapping[str, str] = MappingProxyType({}),
) -> Theme:
    """The theme called `name` on a terminal of that kind: `auto`, a built-in one, a file in one of `folders`.

    After these come `files`, the names and paths of themes that others bring: `plugin:name`.
    `auto` is dark or light, as the terminal answered that its background is, else as the environment says.
    Raises `ThemeError` for a name that there is not, or for a file that says something else.
    """
    if name == "auto":
        background = caps.background if caps is not None else None
        is_dark = background.is_dark if background is not None else kind.is_dark
        name = "dark" if is_dark else "light"
    if name in PALETTES:
        return compiled(name, palette(name, kind.depth), kind)
    if name and name == Path(name).name:
        for folder in folders:
            for path in (folder / f"{name}.toml", folder / f"{name}.json"):
                if path.is_file():
                    return read_theme(path, kind)
    if name in files:
        return read_theme(Path(files[name]), kind)
    names = ", ".join([*THEME_NAMES, *own_themes(folders), *files])
    plugin, mark, _ = name.partition(":")
    why = f": no plugin {plugin} that counts brings it" if mark else ""
    raise ThemeError(f"there is no theme {name!r}{why}; there are {names}")


def own_themes(folders: Sequence[Path]) -> tuple[str, ...]:
    """The names of the themes that lie in `folders`, whether they can be read or not."""
    names = {
        path.stem
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
        if path.suffix in (".toml", ".json")
    }
    return tuple(sorted(names - set(THEME_NAMES)))


def read_theme(path: Path, kind: TerminalKind) -> Theme:
    """The theme of a file. Raises `ThemeError`, which names the file, the role and what was expected."""
    from caliban_common.files import read_regular

    try:
        data = read_regular(path, max_bytes=MAX_FILE_BYTES)
    except CalibanError as error:
        raise ThemeError(f"the theme cannot be read: {error.message}") from error
    value = _parsed(path, data)
    if not isinstance(value, dict):
        raise ThemeError(f"the theme {path} has to be a table of roles, not {type(value).__name__}")
    if "overrides" in value and "roles" not in value:
        from caliban_tui.theme.overrides import BASES, roles_of

        base = value.get("base", "dark")
        roles = roles_of(value.pop("overrides"), f"the theme {path}")
        value |= {"base": BASES.get(base, base) if isinstance(base, str) else base, "roles": roles}
    unknown = sorted(set(value) - {"name", "base", "roles"})
    if unknown:
        raise ThemeError(f"the theme {path} has {unknown[0]!r}; what it may have is name, base and roles")
    name = value.get("name", path.stem)
    base = value.get("base", "terminal")
    roles = value.get("roles", {})
    if not isinstance(name, str):
        raise ThemeError(f"the theme {path}: name has to be a text")
    if not isinstance(base, str) or base not in PALETTES:
        raise ThemeError(f"the theme {path}: base is {base!r}; it may be {', '.join(PALETTES)}")
    if not isinstance(roles, dict):
        raise ThemeError(f"the theme {path}: roles has to be a table")
    for role, words in roles.items():
        _check(path, role, words)
    return compiled(name, {**palette(base, kind.depth), **roles}, kind)


def compiled(name: str, palette: Mapping[str, str], kind: TerminalKind) -> Theme:
    """The theme whose roles are the words of `palette`, for a terminal of that kind."""
    roles = {} if kind.is_dumb else {role: sgr_of(words, kind.depth) or "" for role, words in palette.items()}
    return Theme(
        name=name,
        roles={role: sgr for role, sgr in roles.items() if sgr},
        colours=kind.depth != "none",
        unicode=kind.unicode,
        links=kind.links,
    )


def sgr_of(words: str, depth: ColourDepth) -> str | None:
    """The SGR parameters that `words` ask for; `None` where they are no such words."""
    codes: list[str] = []
    grounds: set[bool] = set()
    is_background = False
    for word in words.split():
        if word in ATTRIBUTES and not is_background:
            codes.append(_CODES[ATTRIBUTES.index(word)])
        elif word == "on" and not is_background and True not in grounds:
            is_background = True
        elif (shown := colour(word)) is not None and is_background not in grounds:
            grounds.add(is_background)
            codes.append(parameters(shown, depth, background=is_background))
            is_background = False
        else:
            return None
    if is_background:
        return None
    if depth == "none" and True in grounds:
        codes.append("7")
    return ";".join(code for code in codes if code)


def _check(path: Path, role: str, words: Any) -> None:
    if role not in ROLES:
        import difflib

        near = difflib.get_close_matches(role, ROLES, 1)
        more = f"; did you mean {near[0]}?" if near else f"; the roles are {', '.join(ROLES)}"
        raise ThemeError(f"the theme {path}: there is no role {role!r}{more}")
    if not isinstance(words, str) or sgr_of(words, "true") is None:
        raise ThemeError(f"the theme {path}: {role} is {words!r}; expected are {_EXPECTED}")


def _parsed(path: Path, data: bytes) -> Any:
    try:
        text = data.decode()
        if path.suffix == ".json":
            return json.loads(text)
        import tomllib

        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ThemeError(f"the theme {path} is no {path.suffix[1:].upper() or 'TOML'}: {error}") from error
