"""The flags of a run, as a value."""

from __future__ import annotations

from msgspec import Struct


class Options(Struct, frozen=True, kw_only=True):
    """Everything a person can say on the command line of a run; `None` is "not said"."""

    prompt: str | None = None
    prompt_flag: str | None = None
    print_flag: bool = False
    print_prompt: str | None = None
    output_format: str | None = None
    input_format: str = "text"
    no_auto_print: bool = False
    max_budget_usd: str | None = None
    bare: bool = False
    json_schema: str | None = None
    include_partial_messages: bool = False
    include_hook_events: bool = False
    include_dispatch_events: bool = False
    replay_user_messages: bool = False
    continue_session: bool = False
    resume: str | None = None
    session: str | None = None
    fork_session: bool = False
    no_save: bool = False
    sessions_dir: str | None = None
    provider: str | None = None
    base_url: str | None = None
    model: str | None = None
    fallback_model: str | None = None
    config: str | None = None
    max_tokens: int | None = None
    max_turns: int | None = None
    temperature: float | None = None
    workspace: str | None = None
    no_tools: bool = False
    restrict_paths: bool = True
    quiet: bool = False
    no_parallel_tools: bool = False
    parallel_tool_limit: int | None = None
    system: str | None = None
    system_file: str | None = None
    no_system: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    permission_mode: str | None = None
    no_permissions: bool = False
    auto_allow: bool = False
    allow_dangerously_skip_permissions: bool = False
    disable_auto_mode: bool = False
    trust_project: bool = False
    settings: str | None = None
    setting_sources: str | None = None
    max_attach_bytes: int = 262_144
    attach_budget_bytes: int = 1_048_576
    no_prompt_cache: bool = False

    @property
    def prints(self) -> bool:
        """Whether a flag asked for the headless face."""
        return self.print_flag or self.output_format is not None or self.input_format == "stream-json"
