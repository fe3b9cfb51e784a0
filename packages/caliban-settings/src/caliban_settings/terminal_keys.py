"""The settings of the terminal interface, `tui.*`."""

from __future__ import annotations

from typing import Final

from caliban_settings.key import FLAG, PERSON, TEXT, TEXTS, Key

TERMINAL_KEYS: Final[tuple[Key, ...]] = (
    Key(
        path="tui.painter",
        form={"enum": ["inline", "full", "linear"]},
        default="inline",
        doc="How the screen is used: the terminal's own scrollback, the whole screen, or lines for a reader.",
    ),
    Key(
        path="tui.theme",
        form=TEXT,
        doc="The colours: dark, light, one of your own or PLUGIN:NAME; else the terminal's.",
    ),
    Key(
        path="tui.detail",
        form={"enum": ["brief", "normal", "full"]},
        default="normal",
        doc="How much the transcript shows of tool calls.",
    ),
    Key(
        path="tui.keys.*",
        form={"anyOf": [TEXT, TEXTS]},
        doc="The keys of an action, in the place of its usual ones; an empty list takes them away.",
    ),
    Key(
        path="tui.files_command",
        form=TEXTS,
        scopes=PERSON,
        doc="A program, with its arguments, that prints the names for @, one a line; else git's, or a walk.",
    ),
    Key(path="tui.mouse", form=FLAG, default=False, doc="Scroll by the wheel, on the whole screen."),
    Key(
        path="tui.wrap",
        form={"enum": ["words", "terminal"]},
        default="words",
        doc="Who breaks prose: we, between words, or the terminal, where a line ends.",
    ),
    Key(path="tui.reduce_motion", form=FLAG, default=False, doc="Nothing turns while it is waited for."),
    Key(
        path="tui.notifications",
        form={"enum": ["both", "bell", "osc9", "off"]},
        default="both",
        doc="How a person who looks elsewhere is called: the bell, a message of the desktop (OSC 9).",
    ),
    Key(
        path="tui.title",
        form=FLAG,
        default=False,
        doc="Name the window, which has its own name again at the end.",
    ),
    Key(
        path="tui.showCostInStatusline",
        form=FLAG,
        default=True,
        doc="What the session cost, in the status line.",
    ),
)
