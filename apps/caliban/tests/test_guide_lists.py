"""Nothing that the guide lists is silent: it works, or it is refused or warned about by its name."""

# ruff: noqa: SIM905 - a table of words reads best as words

from __future__ import annotations

import pytest

from caliban.cli.commands import COMMANDS, LATER_COMMANDS, find_command
from caliban.cli.environment import variables
from caliban.cli.groups import GROUPS, LATER_FLAGS
from caliban.cli.lookalike import is_slash_command
from caliban.cli.parser import parse
from caliban.cli.variables import INNER_VARIABLES, LATER_VARIABLES, about_variables
from caliban.compose.catalog import BUILTIN, EXTRAS
from caliban.errors import UsageError
from caliban_settings import SCHEMA

FLAGS = """
--prompt --print -p --output-format --input-format --no-auto-print --max-budget-usd --bare --json-schema
--include-partial-messages --include-hook-events --replay-user-messages -c --continue -r --resume
--session --no-save --sessions-dir --provider --model --fallback-model --max-tokens --max-turns
--temperature --workspace --no-tools --restrict-paths --quiet --system --system-file --no-system --allow
--deny --ask --permission-mode --no-permissions --auto-allow --allow-dangerously-skip-permissions
--disable-auto-mode --permission-prompt-tool --no-hooks --no-skills --no-mcp --no-plugins
--mcp-oauth-port --no-sub-agent --config --settings --setting-sources --max-attach-bytes
--attach-budget-bytes --no-prompt-cache --no-parallel-tools --parallel-tool-limit --debug --bg --help
--version
""".split()

COMMAND_NAMES = """
doctor config settings perms agents attach logs stop kill respawn rm daemon router plugin mcp
""".split()

VARIABLES = """
ANTHROPIC_API_KEY ANTHROPIC_BASE_URL CALIBAN_MAX_ATTACH_BYTES CALIBAN_ATTACH_BUDGET_BYTES
CALIBAN_DEFAULT_PERMISSION_MODE CALIBAN_NO_PERMISSIONS CALIBAN_AUTO_ALLOW CALIBAN_DISABLE_AUTO_MODE
CALIBAN_NO_PROMPT_CACHE CALIBAN_NO_PARALLEL_TOOLS CALIBAN_PARALLEL_TOOL_LIMIT CALIBAN_NO_HOOKS
CALIBAN_NO_SKILLS CALIBAN_NO_MCP CALIBAN_MCP_OAUTH_PORT CALIBAN_MCP_TIMEOUT CALIBAN_MCP_TOOL_TIMEOUT
CALIBAN_NO_PLUGINS CALIBAN_ENABLED_PLUGINS CALIBAN_PLUGIN_ROOT CALIBAN_NO_SUB_AGENT
CALIBAN_DAEMON_RUNTIME_DIR CALIBAN_DISABLE_AUTO_MEMORY CALIBAN_MEMORY_DIR CALIBAN_MEMORY_BUDGET_TOKENS
CALIBAN_MEMORY_CAP_TOKENS_AUTO CALIBAN_MEMORY_CAP_TOKENS_CLAUDE_MD CALIBAN_AUTO_MEMORY_DIRECTORY
CALIBAN_DISABLE_CLAUDE_MD_WALK CALIBAN_ADDITIONAL_DIRECTORIES_CLAUDE_MD CALIBAN_CLAUDE_MD_EXCLUDES
CALIBAN_APPROVE_IMPORTS CALIBAN_CHECKPOINT_ROOT CALIBAN_CHECKPOINT_DISABLED
CALIBAN_CHECKPOINT_MAX_FILE_BYTES CALIBAN_CHECKPOINT_MAX_BYTES CALIBAN_CLEANUP_PERIOD_DAYS
CALIBAN_ROUTER_CONFIG CALIBAN_STRICT_ROUTING CALIBAN_API_KEY_HELPER_TTL_MS CALIBAN_OUTPUT_STYLE
CALIBAN_GRAPHICS CALIBAN_ENABLE_TELEMETRY CALIBAN_OTEL_HEADERS_HELPER CALIBAN_RATES_YAML CALIBAN_DEBUG
CALIBAN_BLOCKED_MARKETPLACES CALIBAN_STRICT_KNOWN_MARKETPLACES CALIBAN_STRICT_PLUGIN_ONLY_CUSTOMIZATION
CALIBAN_PROVIDER CALIBAN_SESSIONS_DIR CALIBAN_PROJECT_DIR CALIBAN_KEEP_WORKTREES
CALIBAN_MAX_MCP_OUTPUT_TOKENS CALIBAN_AWS_AUTH_REFRESH CALIBAN_GCP_AUTH_REFRESH
CALIBAN_WEBSEARCH_PROVIDER
""".split()
"""OTEL_* speak to telemetry, which a run is asked for by another variable."""

KEYS = """
agent model fallback_model model_overrides effort permissions.allow permissions.ask permissions.deny
permissions.rules permissions.enforce permissions.default_mode permissions.audit_log hooks
disable_all_hooks allow_managed_hooks_only allowed_http_hook_urls http_hook_allowed_env_vars mcp_servers
router memory.auto_memory_enabled memory.auto_memory_directory memory.cap_tokens_auto
memory.cap_tokens_claude_md memory.cap_tokens_combined plugins output_style editor_mode view_mode
statusLine tui api_key_helper enable_telemetry auto_compact_threshold micro_compact_enabled
tool_result_cap_chars min_cache_block_tokens parent_settings_behavior sandbox claude_md_excludes env
additional_directories max_turns max_tokens
""".split()

SLASH_COMMANDS = """
clear init resume recap export btw model effort status login logout setup-token permissions usage cost
context compact doctor memory config hooks mcp plugins agents skills plan output-style rewind statusline
loop feedback heapdump tui help quit exit
""".split()


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_of_the_guide_is_there_or_refused_by_name(name):
    spellings = {spelling for group in GROUPS for row in group.flags for spelling in row.spellings}
    assert (name in spellings) != (name in LATER_FLAGS)


@pytest.mark.parametrize("name", LATER_FLAGS)
def test_a_flag_that_is_put_off_says_so(name):
    with pytest.raises(UsageError, match=f"{name} is not available yet: .* not part of this version"):
        parse(["-p", "hi", name], {})


@pytest.mark.parametrize("name", COMMAND_NAMES)
@pytest.mark.parametrize("before", [(), ("--bare",), ("--model", "m"), ("--settings", "{}", "--quiet")])
def test_a_command_of_the_guide_is_run_or_refused_whatever_stands_before_it(before, name):
    if name in {command.name for command in COMMANDS}:
        call = find_command([*before, name])
        assert call is not None and call[0].name == name
        return
    with pytest.raises(UsageError, match=f"there is no command '{name}' in this version") as caught:
        parse([*before, name], {})
    assert caught.value.hint.startswith(LATER_COMMANDS[name])


@pytest.mark.parametrize("name", SLASH_COMMANDS)
def test_a_slash_command_of_the_guide_is_a_row(name):
    assert is_slash_command(f"/{name}") and not is_slash_command(name)
    assert parse([f"/{name}"], {}).prompt.prompt == f"/{name}"


@pytest.mark.parametrize("name", VARIABLES)
def test_a_variable_of_the_guide_is_read_or_named(name):
    warnings = tuple(about_variables({name: "1"}))
    if name in LATER_VARIABLES:
        assert warnings == (f"{name} has no effect: {LATER_VARIABLES[name]} not part of this version",)
    else:
        assert warnings == ()
        assert name in {*variables(), *INNER_VARIABLES}


@pytest.mark.parametrize(
    ("given", "meant"),
    [("CALIBAN_AUTO_ALOW", "CALIBAN_AUTO_ALLOW"), ("CALIBAN_SESSION_DIR", "CALIBAN_SESSIONS_DIR")],
)
def test_a_variable_with_a_slip_of_the_pen_is_named(given, meant):
    assert tuple(about_variables({given: "1"})) == (f"{given} has no effect: did you mean {meant}?",)


def test_a_variable_of_somebody_else_is_nobodys_business():
    assert tuple(about_variables({"CALIBAN_OF_ANOTHER_PROGRAM": "1", "OTHER": "1"})) == ()


@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_the_guide_is_in_the_table_of_settings(name):
    assert any(f"{key.path}.".startswith((f"{name}.", f"{name}.*")) for key in SCHEMA)


def test_help_names_every_provider_of_the_distribution():
    row = next(row for group in GROUPS for row in group.flags if "--provider" in row.names)
    listed = row.how["help"].partition(", one of settings")[0].split(", ")
    assert set(listed) == {*BUILTIN, *EXTRAS}
