"""Commands about the screen: they answer with what the face is to change."""

from __future__ import annotations

from caliban.compose.app import App
from caliban.slash.kept import kept_words
from caliban_commands.answer import (
    ChoiceRow,
    CommandAnswer,
    OpenView,
    ShownChoice,
    ShownText,
    ShowTerminal,
    UseScreen,
)
from caliban_commands.builtin.session import no_arguments
from caliban_commands.command import SlashContext
from caliban_commands.errors import BadArguments
from caliban_common.near import did_you_mean
from caliban_common.text import one_line

PAINTERS = ("inline", "full", "linear")
DETAILS = ("brief", "normal", "full")


def theme_names(app: App) -> tuple[str, ...]:
    """All themes, the user's own and those of plugins included."""
    from caliban.compose.terminal import plugin_themes
    from caliban_common.paths import config_dir
    from caliban_tui.theme.themes import THEME_NAMES, own_themes

    own = (*THEME_NAMES, *own_themes((config_dir() / "themes",)))
    return (*own, *(name for name in sorted(plugin_themes(app.live.read.plugins)) if name not in own))


async def tui(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Switch to a painter, or without an argument to the other of two."""
    if not arguments:
        return CommandAnswer(effect=UseScreen(painter="other"))
    _known("tui", arguments, PAINTERS)
    return CommandAnswer(effect=UseScreen(painter=arguments))  # type: ignore[arg-type]


async def theme(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """The themes, or another one, which is kept in the user's own settings where these can be written."""
    names = theme_names(app)
    if not arguments:
        rows = tuple(ChoiceRow(label="", line=f"/theme {name}") for name in names)
        return CommandAnswer(parts=(ShownChoice(title="themes", rows=rows),))
    _known("theme", arguments, names)
    _check_theme(app, arguments)
    words = await kept_words(app, "tui.theme", arguments)
    return CommandAnswer.of(f"theme: {arguments}, {words}", effect=UseScreen(theme=arguments))


def _check_theme(app: App, name: str) -> None:
    """Raise `ThemeError` where the file of a theme says something else: that is not to be kept."""
    from caliban.compose.terminal import plugin_themes
    from caliban_common.paths import config_dir
    from caliban_tui.theme.themes import choose_theme, terminal_kind

    folders = (config_dir() / "themes",)
    choose_theme(name, terminal_kind(app.environ), None, folders, plugin_themes(app.live.read.plugins))


async def vim(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Switch between the vim and emacs keys."""
    no_arguments("vim", arguments)
    return CommandAnswer(effect=UseScreen(editor="other"))


async def view(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """How much is shown of tools and thinking."""
    if not arguments:
        rows = tuple(ChoiceRow(label="", line=f"/view {detail}") for detail in DETAILS)
        return CommandAnswer(parts=(ShownChoice(title="how much is shown", rows=rows),))
    _known("view", arguments, DETAILS)
    return CommandAnswer(effect=UseScreen(detail=arguments))  # type: ignore[arg-type]


async def focus(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Tools and thinking in brief, or as before."""
    no_arguments("focus", arguments)
    return CommandAnswer(effect=UseScreen(detail="other"))


async def terminal_setup(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """What the terminal can: the face knows what it has answered, the text is for one that does not."""
    no_arguments("terminal-setup", arguments)
    from caliban_tui.terminal.caps import UNKNOWN
    from caliban_tui.terminal.setup import setup_text

    shown = ShownText(markdown=setup_text(app.environ, UNKNOWN))
    return CommandAnswer(parts=(shown,), effect=ShowTerminal())


async def keys(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """The keys."""
    no_arguments("keybindings", arguments)
    return CommandAnswer(effect=OpenView(view="help", argument="keys"))


async def statusline(app: App, context: SlashContext, arguments: str) -> CommandAnswer:
    """Show the status line's command, or how to set one."""
    no_arguments("statusline", arguments)
    written = app.live.now.get("statusLine")
    if not written:
        return CommandAnswer.of(
            "there is no command of the status line: the usual one is shown. The setting statusLine has one, "
            'such as {"type": "command", "command": "my-status"}, which reads JSON on standard input'
        )
    origin = app.live.now.origin("statusLine.command") or app.live.now.origin("statusLine")
    command = written.get("command", "") if isinstance(written, dict) else str(written)
    place = "" if origin is None else f" ({origin})"
    return CommandAnswer.of(f"status line{place}: {one_line(app.masker.text(str(command)), max_chars=300)}")


def _known(name: str, word: str, words: tuple[str, ...]) -> None:
    if word not in words:
        near = did_you_mean(word, words)
        shown = one_line(word, max_chars=40)
        raise BadArguments(
            f"/{name} does not know {shown!r}", hint=f"{near} one of {', '.join(words)}".strip()
        )
