"""What tests of sub-agents share: a family of agents whose model answers by who asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from caliban_agent_core import Agent, AgentOptions, Gate
from caliban_agent_core.subagent.definition import GENERAL, AgentDefinition
from caliban_agent_core.subagent.parts import ChildModel, SubAgentParts
from caliban_agent_core.subagent.tool import AgentTool, ToolsWithAgents
from caliban_common.hook import HookEvent, Hooks, HookVerdict
from caliban_common.message import ToolUseBlock
from caliban_common.tool import FixedTools, Tool
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.scripted import Reply, ScriptedProvider, tool_call

Answers = Mapping[str, Sequence[Reply] | Callable[[CompletionRequest], Reply]]


def by_agent(answers: Answers) -> ScriptedProvider:
    """A model that gives each agent, by its name, the next of its own replies."""
    scripts = {name: script if callable(script) else iter(script) for name, script in answers.items()}

    def answer(request: CompletionRequest) -> Reply:
        script = scripts[request.agent]
        return script(request) if callable(script) else next(script)

    return ScriptedProvider(answer)


def delegate(prompt: str = "look", *, id: str = "d1", **args: Any) -> ToolUseBlock:
    """A call that starts an agent."""
    return tool_call("Agent", {"description": "a task", "prompt": prompt, **args}, id=id)


def family(
    provider: ScriptedProvider,
    *,
    tools: Sequence[Tool] = (),
    kinds: tuple[AgentDefinition, ...] = (GENERAL,),
    gate: Gate | None = None,
    hooks: Hooks | None = None,
    options: AgentOptions | None = None,
    **limits: Any,
) -> Agent:
    """An agent that may start others."""
    source, gate, options = FixedTools(tools), gate or Gate(), options or AgentOptions()
    parts = SubAgentParts(
        model_for=lambda model: ChildModel(provider=provider, model=model or "m"),
        tools=source,
        gate=gate,
        hooks=hooks,
        options=options,
        definitions=kinds,
        place="Working directory: /work",
        **limits,
    )
    offered = ToolsWithAgents(source, AgentTool(parts))
    return Agent(provider, "m", tools=offered, gate=gate, hooks=hooks, options=options)


def asked(provider: ScriptedProvider, agent: str) -> list[CompletionRequest]:
    """The requests made in the name of `agent`."""
    return [request for request in provider.requests if request.agent == agent]


class Listening:
    """Hooks that object to the events of the types `denied`, and remember all."""

    def __init__(self, *denied: str) -> None:
        self.denied = denied
        self.seen: list[tuple[str, str]] = []

    async def fire(self, event: HookEvent) -> HookVerdict:
        self.seen.append((event.type, getattr(event, "agent", "")))  # type: ignore[attr-defined]
        if event.type in self.denied:  # type: ignore[attr-defined]
            return HookVerdict(decision="deny", reason="not today")
        return HookVerdict()
