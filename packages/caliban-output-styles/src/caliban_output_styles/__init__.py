"""Output styles: how an agent writes its answers."""

from caliban_output_styles.builtins import builtin_styles
from caliban_output_styles.catalog import StyleCatalog, make_styles
from caliban_output_styles.errors import NoSuchStyle, StyleFailed, StyleRefused
from caliban_output_styles.read import read_style
from caliban_output_styles.style import DEFAULT, OPENING, OutputStyle, StyleScope

__all__ = [
    "DEFAULT",
    "OPENING",
    "NoSuchStyle",
    "OutputStyle",
    "StyleCatalog",
    "StyleFailed",
    "StyleRefused",
    "StyleScope",
    "builtin_styles",
    "make_styles",
    "read_style",
]
