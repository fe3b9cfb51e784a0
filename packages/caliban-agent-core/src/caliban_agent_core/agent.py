"""The agent: a provider, tools and a gate, ready to run histories."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, overload

from msgspec import Struct
from msgspec.structs import replace

from caliban_agent_core.answer import OutputType
from caliban_agent_core.channel import Channel
from caliban_agent_core.compact.trigger import Trigger
from caliban_agent_core.compaction import Compaction
from caliban_agent_core.dispatch import Dispatcher
from caliban_agent_core.gate import Gate
from caliban_agent_core.given import expect, expect_method, history_of
from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.images import target_of
from caliban_agent_core.learned import Learned
from caliban_agent_core.loop import Loop
from caliban_agent_core.nudge import Nudges
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.ports import Compactor, InputSource
from caliban_agent_core.prefix import PrefixWatch
from caliban_agent_core.reply import ModelCaller
from caliban_agent_core.run import Run
from caliban_agent_core.state import RunState
from caliban_agent_core.tasks import RunTasks
from caliban_agent_core.toolset import ToolSnapshots, source_of
from caliban_agent_core.turn import Turn
from caliban_common.event import AgentEvent, OutputT, RunEnd
from caliban_common.history import Repairer
from caliban_common.hook import Hooks, SessionStart
from caliban_common.message import Message, NewId, count_leading_system, new_id
from caliban_common.message import system as system_message
from caliban_common.tool import Tool, ToolSource
from caliban_common.usage import Usage
from caliban_provider.provider import Provider


class RunSetup(Struct, frozen=True, kw_only=True):
    """What one run has of its own; see `Agent.run`."""

    session_id: str | None = None
    context: Any = None
    output_type: Any = None
    prefix: PrefixWatch | None = None
    inputs: InputSource | None = None
    resumes: bool = False


class Compacted(Struct, frozen=True, kw_only=True):
    """What came of a compaction that a person asked for; `usage` is what the summary cost."""

    is_done: bool
    messages: tuple[Message, ...]
    events: tuple[AgentEvent, ...]
    usage: Usage


class Agent:
    """Runs a model in a loop with tools. One agent may run many histories, also at the same time.

    `system` leads every history that has no system message of its own. `tools` are offered to the model in
    the given order, which is part of the prompt's cached prefix; a source is asked before every turn. `hooks`
    are asked before the `gate`, without which every call is allowed; without a `compactor` the model itself
    summarises. `new_id` names the messages of the runs. Of a source that has two tools of one name the first
    is offered. Raises `ToolDefinitionError` for tools that are none, `TypeError` for other arguments.
    """

    def __init__(  # noqa: PLR0913 - keyword-only: all that a run is made of comes together here
        self,
        provider: Provider,
        model: str,
        *,
        system: str | Message | None = None,
        tools: Sequence[Tool] | ToolSource = (),
        gate: Gate | None = None,
        hooks: Hooks | None = None,
        options: AgentOptions | None = None,
        compactor: Compactor | None = None,
        new_id: NewId = new_id,
    ) -> None:
        _expect_model(provider, model)
        self.provider = provider
        self.model = model
        self.system: Message | None = (
            system_message(system, id=new_id()) if isinstance(system, str) else system
        )
        self.options: AgentOptions = options or AgentOptions()
        self.gate: Gate = gate or Gate()
        expect("options", self.options, AgentOptions, "AgentOptions(max_turns=5)")
        expect("gate", self.gate, Gate, "rules and an approver stand in one, Gate(approver=...)")
        if self.system is not None:
            expect("system", self.system, Message, "a text, or caliban_agent_core.system(text)")
        if hooks is not None:
            expect_method("hooks", hooks, "fire", "one object that is told of every event")
        if compactor is not None:
            expect_method("compactor", compactor, "compact", "without one the model summarises")
        self.hooks = hooks
        self.compactor = compactor
        self._learned = Learned()
        self._tools = ToolSnapshots(source_of(tools))
        self._new_id = new_id

    async def __aenter__(self) -> Agent:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the provider."""
        await self.provider.aclose()

    def use_model(self, provider: Provider, model: str, compactor: Compactor | None = None) -> None:
        """Ask `model` of `provider` from the next run on; a run at work goes on as it began."""
        _expect_model(provider, model)
        self.provider, self.model, self.compactor = provider, model, compactor
        self._learned = Learned()

    @property
    def tools(self) -> ToolSource:
        """Where its tools come from."""
        return self._tools.source

    @overload
    def run(
        self,
        history: str | Message | Sequence[Message],
        *,
        output_type: type[OutputT],
        session_id: str | None = None,
        context: Any = None,
        prefix: PrefixWatch | None = None,
        inputs: InputSource | None = None,
        judged: bool = False,
    ) -> Run[OutputT]: ...

    @overload
    def run(
        self,
        history: str | Message | Sequence[Message],
        *,
        output_type: Any = None,
        session_id: str | None = None,
        context: Any = None,
        prefix: PrefixWatch | None = None,
        inputs: InputSource | None = None,
        judged: bool = False,
    ) -> Run[Any]: ...

    def run(  # noqa: PLR0913 - keyword-only: what one run has of its own
        self,
        history: str | Message | Sequence[Message],
        *,
        output_type: Any = None,
        session_id: str | None = None,
        context: Any = None,
        prefix: PrefixWatch | None = None,
        inputs: InputSource | None = None,
        judged: bool = False,
    ) -> Run[Any]:
        """Start on `history`, whose last message is the user's: enter the result with `async with`.

        A string is a history of one user message. The outcome's messages begin with `history`, repaired only
        where it was sent. `session_id` names the conversation where it is not that of the options; `context`
        is given to tools. The answer is held to `output_type`, anything that pydantic validates, and stands
        in the outcome's `output`, which checkers know to be of it. `prefix` is that of the conversation
        so far, where there is one; `inputs` is asked between turns what the user says meanwhile. The last
        message is a prompt that the hooks may keep out of the history, unless they have `judged` it before.
        Raises `TypeError` for a history of anything but messages, and a type that pydantic cannot validate.
        """
        messages = history_of(history, self._new_id)
        prompt = None
        if self.hooks is not None and not judged and _ends_in_prompt(messages):
            messages, prompt = messages[:-1], messages[-1]
        setup = RunSetup(
            session_id=session_id, context=context, output_type=output_type, prefix=prefix, inputs=inputs
        )
        return self._run(messages, prompt, setup)

    @overload
    def resume(
        self,
        history: Sequence[Message],
        *,
        output_type: type[OutputT],
        session_id: str | None = None,
        context: Any = None,
        prefix: PrefixWatch | None = None,
        inputs: InputSource | None = None,
    ) -> Run[OutputT]: ...

    @overload
    def resume(
        self,
        history: Sequence[Message],
        *,
        output_type: Any = None,
        session_id: str | None = None,
        context: Any = None,
        prefix: PrefixWatch | None = None,
        inputs: InputSource | None = None,
    ) -> Run[Any]: ...

    def resume(
        self,
        history: Sequence[Message],
        *,
        output_type: Any = None,
        session_id: str | None = None,
        context: Any = None,
        prefix: PrefixWatch | None = None,
        inputs: InputSource | None = None,
    ) -> Run[Any]:
        """Go on with a run that ended with `approval`, in this process or another one.

        The calls that wait are judged and asked about again; then the run goes on. A history that has its
        answer ends with it. `output_type`, `session_id`, `context` and the rest are given anew, as for `run`.
        """
        setup = RunSetup(
            session_id=session_id,
            context=context,
            output_type=output_type,
            prefix=prefix,
            inputs=inputs,
            resumes=True,
        )
        return self._run(history_of(history, self._new_id), None, setup)

    def _run(self, messages: tuple[Message, ...], prompt: Message | None, setup: RunSetup) -> Run[Any]:
        options = self.options
        if setup.session_id is not None:
            options = replace(options, session_id=setup.session_id)
        channel: Channel[AgentEvent] = Channel(options.event_buffer)
        watch = setup.prefix or PrefixWatch(clock=options.timing.clock)
        output_type = None if setup.output_type is None else OutputType(setup.output_type)
        messages = self._led(messages, output_type)
        state = RunState(messages, channel, generation=watch.generation, new_id=self._new_id)
        caller = ModelCaller(
            self.provider,
            state,
            retry=options.retry,
            thinking_cap_chars=options.thinking_cap_chars,
            learned=self._learned,
            timing=options.timing,
        )
        hooks = self._hook_caller(state, options.session_id)
        tasks = RunTasks(state, options, hooks)
        dispatcher = Dispatcher(self.gate, hooks, options, state, tasks, context=setup.context)
        loop = Loop(
            model=self.model,
            tools=self._tools,
            options=options,
            state=state,
            turn=Turn(caller, dispatcher, state, options),
            hooks=hooks,
            tasks=tasks,
            repairer=Repairer(target_of(self.provider, self.model)),
            compaction=self._compaction(hooks),
            nudges=Nudges(),
            prefix=watch,
            learned=self._learned,
            inputs=setup.inputs,
            output_type=output_type,
            resumes=setup.resumes,
        )
        return Run(loop, caller, channel, hooks, prompt=prompt)

    def _led(self, messages: tuple[Message, ...], output_type: OutputType | None) -> tuple[Message, ...]:
        """`messages` behind the system prompt, and what the model has to know of the answer's type."""
        if self.system is not None and not (messages and messages[0].role == "system"):
            messages = (self.system, *messages)
        if output_type is None:
            return messages
        instruction = system_message(output_type.instruction(), id=self._new_id())
        lead = count_leading_system(messages)
        if instruction.text in (message.text for message in messages[:lead]):
            return messages
        return (*messages[:lead], instruction, *messages[lead:])

    @overload
    async def run_to_end(
        self,
        history: str | Message | Sequence[Message],
        *,
        output_type: type[OutputT],
        session_id: str | None = None,
        context: Any = None,
    ) -> RunEnd[OutputT]: ...

    @overload
    async def run_to_end(
        self,
        history: str | Message | Sequence[Message],
        *,
        output_type: Any = None,
        session_id: str | None = None,
        context: Any = None,
    ) -> RunEnd[Any]: ...

    async def run_to_end(
        self,
        history: str | Message | Sequence[Message],
        *,
        output_type: Any = None,
        session_id: str | None = None,
        context: Any = None,
    ) -> RunEnd[Any]:
        """Run `history` and give the outcome; what happens on the way goes unread. Arguments as for `run`."""
        return await self.run(
            history, output_type=output_type, session_id=session_id, context=context
        ).to_end()

    @overload
    async def resume_to_end(
        self,
        history: Sequence[Message],
        *,
        output_type: type[OutputT],
        session_id: str | None = None,
        context: Any = None,
    ) -> RunEnd[OutputT]: ...

    @overload
    async def resume_to_end(
        self,
        history: Sequence[Message],
        *,
        output_type: Any = None,
        session_id: str | None = None,
        context: Any = None,
    ) -> RunEnd[Any]: ...

    async def resume_to_end(
        self,
        history: Sequence[Message],
        *,
        output_type: Any = None,
        session_id: str | None = None,
        context: Any = None,
    ) -> RunEnd[Any]:
        """Go on with `history` and give the outcome. Arguments as for `resume`."""
        return await self.resume(
            history, output_type=output_type, session_id=session_id, context=context
        ).to_end()

    async def compact(self, history: Sequence[Message], *, session_id: str | None = None) -> Compacted:
        """Summarise what `history` begins with, now, because a person asks for it.

        Nothing is raised for what keeps it from being done: the events say why, and the history stays.
        """
        options = self.options
        channel: Channel[AgentEvent] = Channel(sys.maxsize)  # it is read once all is done
        state = RunState(history_of(history, self._new_id), channel, new_id=self._new_id)
        hooks = self._hook_caller(state, session_id or options.session_id)
        is_done = await self._compaction(hooks).now(state)
        channel.close()
        return Compacted(
            is_done=is_done,
            messages=tuple(state.messages),
            events=tuple([event async for event in channel]),
            usage=state.usage,
        )

    def _hook_caller(self, state: RunState, session_id: str) -> HookCaller:
        options = self.options
        start = SessionStart(
            session_id=session_id,
            cwd=options.cwd,
            provider=self.provider.name,
            model=self.model,
            source="compact",
        )
        return HookCaller(self.hooks, state, session_id, agent=options.agent, start=start)

    def _compaction(self, hooks: HookCaller) -> Compaction:
        return Compaction(
            model=self.model,
            provider=self.provider,
            tools=self._tools,
            compactor=self.compactor,
            learned=self._learned,
            micro=self.options.micro_compact,
            trigger=Trigger(threshold=self.options.auto_compact_threshold),
            hooks=hooks,
        )


def _expect_model(provider: object, model: object) -> None:
    expect_method("provider", provider, "stream", 'connect("anthropic") makes one by its name')
    expect("model", model, str, "the name by which the provider knows it")


def _ends_in_prompt(messages: tuple[Message, ...]) -> bool:
    return bool(messages) and messages[-1].role == "user" and not messages[-1].tool_results
