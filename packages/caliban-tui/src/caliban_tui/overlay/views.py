"""What the lists of the terminal need of the app, as values and one port."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from caliban_common.permission import Action, PermissionMode
from caliban_tui.question.asked import CallBrief
from caliban_tui.transcript.blocks import TodoRow

RestoreKind: TypeAlias = Literal["both", "code", "conversation", "summarise_from", "summarise_to"]
"""What goes back to before a prompt: files and conversation, or one of them; or a summary takes the place of
what was said from the prompt on, or before it."""


class SessionRow(Struct, frozen=True, kw_only=True):
    """A saved session. `when` is in words, `depth` how deep it stands below what it was forked from."""

    name: str
    title: str
    when: str
    messages: int | None = None
    workspace: str = ""
    labels: tuple[str, ...] = ()
    depth: int = 0
    is_current: bool = False


class PromptRow(Struct, frozen=True, kw_only=True):
    """A prompt to go back to, `index` from 1; `files` is how many it changed, `notes` what is not known."""

    index: int
    title: str
    when: str = ""
    files: int = 0
    notes: tuple[str, ...] = ()


class RestoreFile(Struct, frozen=True, kw_only=True):
    """What going back does to a file, in a word, and its change; `reason` says why it stays as it is."""

    path: str
    does: str
    change: CallBrief | None = None
    reason: str = ""


class RestorePlan(Struct, frozen=True, kw_only=True):
    """What going back to before a prompt would do. `removed` are messages that go.

    `no_files` and `no_conversation` say why one of them cannot go back.
    """

    prompt: PromptRow
    files: tuple[RestoreFile, ...] = ()
    removed: int = 0
    no_files: str = ""
    no_conversation: str = ""

    @property
    def is_barred(self) -> bool:
        """Whether a file was changed by somebody else since."""
        return any(file.reason for file in self.files)


class Restored(Struct, frozen=True, kw_only=True):
    """What was done, in words; with `reopens` the conversation is another one now."""

    words: str
    reopens: bool = False


class RuleRow(Struct, frozen=True, kw_only=True):
    """A rule and where it stands; `file` and `index` find it there. What is `fixed` says why it stays.

    `comment` is what it is for.
    """

    action: Action
    pattern: str
    source: str
    file: str = ""
    index: int = 0
    fixed: str = ""
    comment: str = ""


class PermissionsShown(Struct, frozen=True, kw_only=True):
    """The mode, which modes are barred and why, and every rule in the order in which they count."""

    mode: PermissionMode
    barred: tuple[str, ...] = ()
    rules: tuple[RuleRow, ...] = ()


class BackgroundRow(Struct, frozen=True, kw_only=True):
    """A command in the background: what it is, and how it stands in words."""

    id: str
    title: str
    state: str
    runs: bool = False


class ServerRow(Struct, frozen=True, kw_only=True):
    """An MCP server: its state in a word, what is wrong with it, and what is known of it, in lines."""

    name: str
    state: str
    tools: int = 0
    scope: str = ""
    words: str = ""
    about: tuple[str, ...] = ()


SettingScope: TypeAlias = Literal["user", "project", "local"]


class SettingRow(Struct, frozen=True, kw_only=True):
    """A setting: its value as it is shown, without secrets, and whose it is; both empty where it is not set.

    One with `choices` has one of these, `now` is the one that counts; `text` is what a person would type for
    the value that it has.
    """

    name: str
    value: str = ""
    origin: str = ""
    about: str = ""
    choices: tuple[str, ...] = ()
    now: str = ""
    text: str = ""


class ViewHost(Protocol):
    """What the terminal's own views are made of. What cannot be done raises `CalibanError`."""

    async def sessions(self, *, everywhere: bool) -> tuple[SessionRow, ...]:
        """Saved sessions, forks below what they were forked from; of the workspace, or of all."""
        ...

    def session_preview(self, name: str) -> tuple[str, ...]:
        """How a session ends, in a few lines; quick from the second time on."""
        ...

    async def rename_session(self, name: str, title: str) -> None:
        """Call a session something."""
        ...

    async def prompts(self) -> tuple[PromptRow, ...]:
        """The prompts that one can go back to, the newest first."""
        ...

    async def restore_plan(self, prompt: PromptRow) -> RestorePlan:
        """What going back to before `prompt` would do."""
        ...

    async def restore(self, prompt: PromptRow, kind: RestoreKind, *, force: bool) -> Restored:
        """Go back; with `force` also over what somebody else has changed since."""
        ...

    def permissions(self) -> PermissionsShown:
        """The mode and the rules of now."""
        ...

    def next_mode(self) -> str:
        """Go to the next mode that is open; why none is, in words."""
        ...

    async def delete_rule(self, rule: RuleRow) -> str:
        """Take a rule away: from its file, from this run. Where it holds on for now, why, in words."""
        ...

    def background(self) -> tuple[BackgroundRow, ...]:
        """The commands in the background."""
        ...

    def background_output(self, id: str) -> str:
        """What one of them has written, its end where that is long."""
        ...

    def stop_background(self, id: str) -> None:
        """End one of them."""
        ...

    def servers(self) -> tuple[ServerRow, ...]:
        """The MCP servers of the run, then those that are written and not used."""
        ...

    async def reconnect_server(self, name: str) -> str:
        """Connect to a server anew; what came of it, in words."""
        ...

    async def toggle_server(self, name: str) -> str:
        """Switch a server off for this session, or on again; what came of it, in words."""
        ...

    def settings(self) -> tuple[SettingRow, ...]:
        """Every setting, those that are set first."""
        ...

    def setting_files(self) -> tuple[tuple[SettingScope, str], ...]:
        """The scopes that a setting can be written to, with their files; at least one."""
        ...

    async def write_setting(self, name: str, text: str, scope: SettingScope) -> str:
        """Write a setting as a person typed it, and take it over; what came of it, in words."""
        ...

    async def unset_setting(self, name: str, scope: SettingScope) -> str:
        """Take a setting out of the file of a scope; what came of it, in words."""
        ...

    def todos(self) -> tuple[TodoRow, ...]:
        """The list of tasks."""
        ...
