"""The flags of a run, as values: one group a heading of `--help`; `None` is "not said"."""

from __future__ import annotations

from msgspec import Struct

from caliban.cli.formats import input_format


class PromptOptions(Struct, frozen=True, kw_only=True):
    """What is asked, and how much of files may come with it.

    Without a bound texts have their own, and images and PDFs what a model takes.
    """

    prompt: str | None = None
    prompt_flag: str | None = None
    print_prompt: str | None = None
    images: tuple[str, ...] = ()
    expand_files: bool = False
    max_attach_bytes: int | None = None
    attach_budget_bytes: int | None = None

    @property
    def is_given(self) -> bool:
        """Whether the command line has a prompt other than that of `-p`."""
        return self.prompt is not None or self.prompt_flag is not None


class OutputOptions(Struct, frozen=True, kw_only=True):
    """Which face answers, what it reads and what it writes."""

    print_flag: bool = False
    output_format: str | None = None
    input_format: str = "text"
    no_auto_print: bool = False
    json_schema: str | None = None
    include_partial_messages: bool = False
    include_hook_events: bool = False
    include_dispatch_events: bool = False
    replay_user_messages: bool = False
    quiet: bool = False

    @property
    def prints(self) -> bool:
        """Whether a flag asks for the headless face."""
        return self.print_flag or self.output_format is not None or input_format(self.input_format).is_framed


class SessionOptions(Struct, frozen=True, kw_only=True):
    """Which conversation is continued, where it is kept, and where the run is recorded."""

    continue_session: bool = False
    everywhere: bool = False
    resume: str | None = None
    session: str | None = None
    fork_session: bool = False
    no_save: bool = False
    mirror: bool = False
    sessions_dir: str | None = None
    record: str | None = None


class ModelOptions(Struct, frozen=True, kw_only=True):
    """The model and its limits. `max_budget_usd` is the text of an amount, parsed where it is used."""

    provider: str | None = None
    base_url: str | None = None
    model: str | None = None
    fallback_model: str | None = None
    config: str | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    max_budget_usd: str | None = None
    temperature: float | None = None
    no_prompt_cache: bool = False


class WorkspaceOptions(Struct, frozen=True, kw_only=True):
    """The directory and the tools that work in it. `sandbox` is `None` where the settings decide."""

    workspace: str | None = None
    sandbox: bool | None = None
    no_tools: bool = False
    restrict_paths: bool = True
    no_parallel_tools: bool = False
    parallel_tool_limit: int | None = None
    no_checkpoints: bool = False


class SystemOptions(Struct, frozen=True, kw_only=True):
    """The system prompt."""

    system: str | None = None
    system_file: str | None = None
    no_system: bool = False

    @property
    def is_given(self) -> bool:
        """Whether a flag sets the system prompt."""
        return self.no_system or self.system is not None or self.system_file is not None


class PermissionOptions(Struct, frozen=True, kw_only=True):
    """What tools may do."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    permission_mode: str | None = None
    no_permissions: bool = False
    auto_allow: bool = False
    allow_dangerously_skip_permissions: bool = False
    disable_auto_mode: bool = False
    permission_prompt_tool: str | None = None
    defer_approvals: bool = False
    approve: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()

    @property
    def answers(self) -> bool:
        """Whether the run answers waiting calls instead of taking a prompt."""
        return bool(self.approve or self.reject)


class ExtensionOptions(Struct, frozen=True, kw_only=True):
    """Extensions that a run leaves out, even if they are configured."""

    no_hooks: bool = False
    no_skills: bool = False
    no_commands: bool = False
    no_mcp: bool = False
    no_plugins: bool = False
    plugin_dir: tuple[str, ...] = ()
    no_sub_agent: bool = False


class SettingsOptions(Struct, frozen=True, kw_only=True):
    """Which settings hold, whether those of a repository may grant anything, and which servers are given."""

    settings: str | None = None
    setting_sources: str | None = None
    mcp_config: tuple[str, ...] = ()
    strict_mcp_config: bool = False
    bare: bool = False
    trust_project: bool = False


class Options(Struct, frozen=True, kw_only=True):
    """Everything a person can say on the command line of a run."""

    prompt: PromptOptions = PromptOptions()
    output: OutputOptions = OutputOptions()
    session: SessionOptions = SessionOptions()
    model: ModelOptions = ModelOptions()
    workspace: WorkspaceOptions = WorkspaceOptions()
    system: SystemOptions = SystemOptions()
    permissions: PermissionOptions = PermissionOptions()
    extensions: ExtensionOptions = ExtensionOptions()
    settings: SettingsOptions = SettingsOptions()
