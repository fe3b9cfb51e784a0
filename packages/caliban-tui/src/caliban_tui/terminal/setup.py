"""What a terminal can, and what to set in it so that Shift+Enter begins a new line: told, never changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from caliban_common.text import one_line
from caliban_tui.render.look import ImageProtocol
from caliban_tui.terminal.caps import TerminalCaps

ESCAPE_ENTER: Final = r"\u001b\r"
"""What Alt+Enter sends: understood in every mode, so a terminal may send it for Shift+Enter."""

ALWAYS: Final = "Alt+Enter, Ctrl+J, and a backslash before Enter begin a new line in every terminal"
_VSCODE: Final = (
    '{"key": "shift+enter", "command": "workbench.action.terminal.sendSequence", '
    f'"args": {{"text": "{ESCAPE_ENTER}"}}, "when": "terminalFocus"}}'
)
_WINDOWS: Final = (
    f'{{"command": {{"action": "sendInput", "input": "{ESCAPE_ENTER}"}}, "keys": "shift+enter"}}'
)


class KnownTerminal(Struct, frozen=True, kw_only=True):
    """A terminal by its name, how it is known, and what its person sets; empty `advice`: it cannot."""

    name: str
    is_it: Callable[[Mapping[str, str]], bool]
    place: str = ""
    advice: str = ""


def _program(*names: str) -> Callable[[Mapping[str, str]], bool]:
    return lambda env: env.get("TERM_PROGRAM", "") in names


def _term(*starts: str) -> Callable[[Mapping[str, str]], bool]:
    return lambda env: env.get("TERM", "").startswith(starts)


def _has(*names: str) -> Callable[[Mapping[str, str]], bool]:
    return lambda env: any(env.get(name) for name in names)


MULTIPLEXERS: Final = (
    KnownTerminal(
        name="tmux",
        is_it=lambda env: bool(env.get("TMUX")) or env.get("TERM", "").startswith("tmux"),
        place="~/.tmux.conf (then: tmux source ~/.tmux.conf)",
        advice="set -s extended-keys always\nset -as terminal-features 'xterm*:extkeys'",
    ),
    KnownTerminal(name="screen", is_it=lambda env: "STY" in env or env.get("TERM", "").startswith("screen")),
)
"""Between the terminal and us, so asked first."""

TERMINALS: Final = (
    KnownTerminal(
        name="Visual Studio Code", is_it=_program("vscode"), place="keybindings.json", advice=_VSCODE
    ),
    KnownTerminal(
        name="iTerm2",
        is_it=_program("iTerm.app"),
        place="Settings › Profiles › Keys › General",
        advice="Report modifiers using CSI u: on",
    ),
    KnownTerminal(
        name="WezTerm",
        is_it=_program("WezTerm"),
        place="~/.wezterm.lua",
        advice="config.enable_kitty_keyboard = true",
    ),
    KnownTerminal(
        name="Alacritty",
        is_it=lambda env: _term("alacritty")(env) or _has("ALACRITTY_WINDOW_ID", "ALACRITTY_SOCKET")(env),
        place="~/.config/alacritty/alacritty.toml (only before version 0.13)",
        advice=f'[[keyboard.bindings]]\nkey = "Return"\nmods = "Shift"\nchars = "{ESCAPE_ENTER}"',
    ),
    KnownTerminal(
        name="Windows Terminal",
        is_it=_has("WT_SESSION"),
        place="settings.json, in the list of actions",
        advice=_WINDOWS,
    ),
    KnownTerminal(
        name="Konsole",
        is_it=_has("KONSOLE_VERSION"),
        place="Edit Current Profile › Keyboard › Edit",
        advice=r"Return+Shift: \E\r",
    ),
    KnownTerminal(
        name="xterm",
        is_it=_has("XTERM_VERSION"),
        place="~/.Xresources (then: xrdb -merge ~/.Xresources)",
        advice="XTerm.vt100.modifyOtherKeys: 1\nXTerm.vt100.formatOtherKeys: 1",
    ),
    KnownTerminal(name="Terminal of macOS", is_it=_program("Apple_Terminal")),
    KnownTerminal(
        name="a terminal of JetBrains", is_it=lambda env: "JetBrains" in env.get("TERMINAL_EMULATOR", "")
    ),
    KnownTerminal(name="a terminal of GNOME's VTE", is_it=_has("VTE_VERSION")),
    KnownTerminal(name="the Linux console", is_it=_term("linux")),
)


def setup_text(env: Mapping[str, str], caps: TerminalCaps, images: ImageProtocol = "") -> str:
    """What is known of the terminal that `env` tells of and `caps` answered for, as Markdown.

    `images` is how it draws pictures.
    """
    between = next((known for known in MULTIPLEXERS if known.is_it(env)), None)
    terminal = next((known for known in TERMINALS if known.is_it(env)), None)
    name = _name(env, terminal)
    rows = [f"terminal: {name}" + (f", inside {between.name}" if between is not None else "")]
    if caps.attributes:
        rows.append(f"Shift+Enter: {'told apart' if caps.kitty_keys else 'comes as Enter, which sends'}")
        rows.append(f"pictures: {images or 'none: a line stands for each'}")
        rows.append(f"whole frames at once: {'yes' if caps.synchronised else 'no'}")
        rows.append(f"background: {'known' if caps.background is not None else 'not told'}")
    else:
        rows.append("the terminal has told nothing of itself")
    text = "\n".join(f"- {row}" for row in rows)
    return f"{text}\n\n{_advice(between or terminal, caps)}"


def _name(env: Mapping[str, str], terminal: KnownTerminal | None) -> str:
    if terminal is not None:
        return terminal.name
    named = env.get("TERM_PROGRAM") or env.get("TERM") or "unknown"
    return f"`{one_line(named, max_chars=60).replace('`', '')}`"


def _advice(known: KnownTerminal | None, caps: TerminalCaps) -> str:
    if caps.kitty_keys:
        return f"Nothing needs to be set: Shift+Enter begins a new line. {ALWAYS}."
    if known is None:
        return (
            "What this terminal needs for Shift+Enter is not known here: let it speak the keyboard protocol "
            f"of kitty, or send Escape and Enter (`{ESCAPE_ENTER}`). {ALWAYS}."
        )
    if not known.advice:
        return f"{known.name} cannot tell Shift+Enter from Enter. {ALWAYS}."
    return (
        f"For Shift+Enter set this in {known.place}; nothing is changed from here:\n\n"
        f"```\n{known.advice}\n```\n\n{ALWAYS}."
    )
