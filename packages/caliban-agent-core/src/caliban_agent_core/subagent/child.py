"""One sub-agent: made of its definition and its caller's parts, run, and summed up for who called it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.agent import Agent
from caliban_agent_core.attributed import AttributedProvider
from caliban_agent_core.compact.transcript import middle_out
from caliban_agent_core.hooks import ask_hooks, context_text, hook_fired, listening
from caliban_agent_core.subagent.definition import NICKNAMES, OWN_MODEL, AgentDefinition
from caliban_agent_core.subagent.parts import SubAgentParts
from caliban_agent_core.subagent.reach import matches, may_use
from caliban_agent_core.subagent.spec import PROPERTIES
from caliban_agent_core.toolsearch.active import ActiveTools
from caliban_agent_core.toolsearch.source import DeferredTools
from caliban_agent_core.toolsearch.spec import search_spec
from caliban_common.arguments import Arguments
from caliban_common.errors import ArgumentError
from caliban_common.event import ChildEvent, ToolCallReady
from caliban_common.hook import SubagentStart
from caliban_common.near import did_you_mean
from caliban_common.text import one_line
from caliban_common.tool import Emit, FilteredTools, ToolContext, ToolOutput, ToolSource, ToolSpec

OUTPUT_CHARS = 5000
"""How much of an agent's last message its caller reads at most (behaviours 2.6)."""

ROLE = """\
You are an agent that another agent has given a task. Nobody answers questions: do the task as far as you \
can. Your last message is all that your caller reads: say in it what you found or did, with names, paths and \
numbers, and what is open. Say nothing of a file that you have not read. A denied call was refused by the \
person's rules: find another way, or say what you would need."""

STARTED = "It works in the background. Its result will come as a message: go on with what does not need it."


class ChildTask(Struct, frozen=True, kw_only=True):
    """What a call asks for. `tools` narrows those of the definition, `None` leaves them."""

    definition: AgentDefinition
    title: str
    prompt: str
    tools: tuple[str, ...] | None
    model: str | None
    background: bool


class CallingAgent(Struct, frozen=True, kw_only=True):
    """What the agent that calls hands on.

    Of its `active` tools those that it starts begin with a copy; `None` holds nothing back. `tools_with`
    gives their tools, for what is theirs of it. At most as many work at a time as `limiter` lets through.
    """

    active: ActiveTools | None
    tools_with: Callable[[ActiveTools | None], ToolSource]
    limiter: anyio.Semaphore


async def start_child(
    args: Mapping[str, Any], context: ToolContext, parts: SubAgentParts, caller: CallingAgent
) -> ToolOutput:
    """Run the agent that `args` ask for. Raises `ArgumentError`."""
    task = read_task(args, parts)
    child = SubAgentRun(task, parts, caller, context)

    async def work(emit: Emit) -> ToolOutput:
        async with caller.limiter:
            return await child.run(emit)

    if not task.background or context.start_background is None:
        return await work(context.emit)
    context.start_background(f"{task.definition.name}: {task.title}", work)
    return ToolOutput.of(STARTED, details={"agent": task.definition.name, "background": True})


def read_task(args: Mapping[str, Any], parts: SubAgentParts) -> ChildTask:
    """The task that the model describes. Raises `ArgumentError`."""
    definitions = parts.definitions
    _refuse_isolation(args)
    given = Arguments({**args, "tools": None, "isolation": None}, known=(*PROPERTIES, "isolation"))
    name = given.optional_string("subagent_type") or definitions[0].name
    kinds = {kind.name: kind for kind in definitions}
    if name not in kinds:
        meant = did_you_mean(name, tuple(kinds))
        words = f"there is no agent {one_line(name, max_chars=80)!r} (there are: {', '.join(kinds)})"
        raise ArgumentError(f"{words}; {meant}" if meant else words)
    prompt = given.string("prompt")
    if not prompt.strip():
        raise ArgumentError("the prompt is empty")
    kind, model = kinds[name], (given.optional_string("model") or "").strip() or None
    is_name = model is not None and model not in (*OWN_MODEL, *NICKNAMES)
    if (
        model is not None
        and is_name
        and parts.refusal is not None
        and (why := parts.refusal(model)) is not None
    ):
        raise ArgumentError(f"model: {why}", hint="leave `model` out to ask that of the agent")
    return ChildTask(
        definition=kind,
        title=one_line(given.string("description", ""), max_chars=120) or one_line(prompt, max_chars=60),
        prompt=prompt,
        tools=_names(args.get("tools")),
        model=model,
        background=given.boolean("run_in_background", kind.background),
    )


def _refuse_isolation(args: Mapping[str, Any]) -> None:
    """Raise `ArgumentError` where an agent is to work apart: it would change its caller's files after all."""
    apart = args.get("isolation") not in (None, "", "none")
    if apart or args.get("worktree") is not None:
        raise ArgumentError(
            "agents have no isolation and no worktree of their own here: they work on your files",
            hint="leave `isolation` and `worktree` out if that will do",
        )


class SubAgentRun:
    """One sub-agent on its way; `context` is that of the call which starts it."""

    def __init__(
        self, task: ChildTask, parts: SubAgentParts, caller: CallingAgent, context: ToolContext
    ) -> None:
        self._task = task
        self._parts = parts
        self._context = context
        self._calls = 0
        self._active = self._own_active(caller.active)
        self._tools = caller.tools_with(self._active)

    async def run(self, emit: Emit) -> ToolOutput:
        """Ask the hooks, run the agent, tell every event of it by `emit`, and sum it up."""
        prompt = self._prompt()
        hooks = listening(self._parts.hooks)
        if hooks is not None:
            event = SubagentStart(
                session_id=self._context.session_id,
                agent=self._task.definition.name,
                tool_use_id=self._context.tool_use_id,
                prompt=prompt,
            )
            verdict = await ask_hooks(hooks, event)
            await emit(self._event(hook_fired(event, verdict)))
            if verdict.denies or verdict.stop:
                reason = verdict.reason or "no reason given"
                return ToolOutput.of(f"Error: a hook denied the agent: {reason}", is_error=True)
            prompt = "\n\n".join(filter(None, (prompt, context_text(event, verdict))))
        agent = self._agent()
        run = agent.run(
            prompt, session_id=self._context.session_id, context=self._context.context, judged=True
        )
        async with run:
            async for happened in run.events:
                self._calls += isinstance(happened, ToolCallReady)
                await emit(self._event(happened))
        end = run.outcome
        text = middle_out(end.text.strip(), OUTPUT_CHARS)
        details = {
            "agent": agent.options.agent,
            "stop": end.stop.kind,
            "turns": end.turns,
            "tool_calls": self._calls,
            "input_tokens": end.usage.input_tokens,
            "output_tokens": end.usage.output_tokens,
        }
        if end.stop.ok:
            summary = "\n\n".join(filter(None, (text or "It said nothing.", self._note())))
            return ToolOutput.of(summary, details=details)
        last = f"\n\nThe last it said:\n{text}" if text else ""
        return ToolOutput.of(
            f"Error: the agent ended before it was done: {end.stop.message}{last}",
            is_error=True,
            details=details,
        )

    def _event(self, event: Any) -> ChildEvent:
        return ChildEvent(
            tool_use_id=self._context.tool_use_id, agent=self._task.definition.name, event=event
        )

    def _prompt(self) -> str:
        return "\n\n".join(filter(None, (self._task.definition.initial_prompt, self._task.prompt)))

    def _agent(self) -> Agent:
        parts, kind = self._parts, self._task.definition
        asked = parts.model_for(self._model() or kind.model)
        own = parts.options
        options = replace(
            own,
            agent=kind.name,
            # What a person allows the run at most, its agents may not exceed.
            max_turns=min(kind.max_turns, own.max_turns),
            effort=kind.effort or own.effort,
            response_schema=None,
            no_edit_nudge_turns=0,
        )
        return Agent(
            AttributedProvider(asked.provider, kind.name),
            asked.model,
            system="\n\n".join(filter(None, (kind.prompt, ROLE, parts.place))),
            tools=self._offered(),
            gate=parts.gate,
            hooks=parts.hooks,
            options=options,
            compactor=asked.compactor,
            new_id=parts.new_id,
        )

    def _own_active(self, of_caller: ActiveTools | None) -> ActiveTools | None:
        """What the agent is shown of deferred tools at first; `None` where none is held back from it."""
        if of_caller is None or not self._may_use(search_spec()):
            return None
        usable = FilteredTools(self._parts.tools, self._may_use).tools()
        return of_caller.copy(tool.spec.name for tool in usable if self._task.definition.inherits_active)

    def _offered(self) -> ToolSource:
        """Its caller's tools, as far as its definition and the call let it use them."""
        tools = FilteredTools(self._tools, self._may_use)
        return tools if self._active is None else DeferredTools(tools, self._active)

    def _may_use(self, tool: ToolSpec) -> bool:
        named = self._task.tools
        return may_use(self._task.definition, tool) and (named is None or matches(tool.name, named))

    def _model(self) -> str | None:
        """The model that the call asks for, where it is the name of one."""
        return None if self._task.model in (*OWN_MODEL, *NICKNAMES) else self._task.model

    def _note(self) -> str:
        """Which tools and what model the call names that there are not."""
        there = [tool.spec.name for tool in self._tools.tools()]
        if self._active is not None:
            there.append(search_spec().name)
        missing = [name for name in self._task.tools or () if not any(matches(one, (name,)) for one in there)]
        notes = [f"[it had no tool {', '.join(missing)}]"] if missing else []
        if self._task.model in NICKNAMES:
            kept = "that of its kind" if self._task.definition.model else "yours"
            notes.append(f"[no model is called {self._task.model!r} here: it had {kept}]")
        return "\n".join(notes)


def _names(value: object) -> tuple[str, ...] | None:
    """A list of tools as models write them: an array, or text with commas."""
    if value is None:
        return None
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ArgumentError("argument 'tools' must be a list of the names of tools")
    return tuple(name.strip() for name in value if name.strip())
