"""The styles of a run by name: of two with one name the first counts."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_output_styles.errors import NoSuchStyle
from caliban_output_styles.style import OutputStyle


class StyleCatalog(Struct, frozen=True, kw_only=True):
    """Styles in a fixed order, each name once; those that are `shadowed`; what is wrong with files."""

    styles: tuple[OutputStyle, ...] = ()
    shadowed: tuple[OutputStyle, ...] = ()
    problems: tuple[str, ...] = ()

    def find(self, name: str) -> OutputStyle:
        """The style `name`, in any case where none is written so. Raises `NoSuchStyle`."""
        for style in self.styles:
            if style.name == name:
                return style
        for style in self.styles:
            if style.name.lower() == name.lower():
                return style
        names = [style.name for style in self.styles]
        raise NoSuchStyle(
            f"there is no output style {one_line(name, max_chars=80)!r}",
            hint=" ".join(filter(None, (did_you_mean(name, names), f"one of {', '.join(names)}"))),
        )


def make_styles(styles: Iterable[OutputStyle], problems: Iterable[str] = ()) -> StyleCatalog:
    """A catalog of `styles`, given in the order in which they count."""
    first: dict[str, OutputStyle] = {}
    shadowed = [style for style in styles if first.setdefault(style.name, style) is not style]
    return StyleCatalog(styles=tuple(first.values()), shadowed=tuple(shadowed), problems=tuple(problems))
