"""The agent: a provider, tools and a gate, ready to run histories."""

from __future__ import annotations

from collections.abc import Sequence

from caliban_agent_core.channel import Channel
from caliban_agent_core.compact.trigger import Trigger
from caliban_agent_core.compaction import Compaction
from caliban_agent_core.dispatch import Dispatcher
from caliban_agent_core.gate import Gate
from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.learned import Learned
from caliban_agent_core.loop import Loop
from caliban_agent_core.nudge import Nudges
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.ports import Compactor, InputSource
from caliban_agent_core.prefix import PrefixWatch
from caliban_agent_core.reply import ModelCaller
from caliban_agent_core.run import Run
from caliban_agent_core.state import RunState
from caliban_agent_core.toolset import ToolSnapshots, source_of
from caliban_agent_core.turn import Turn
from caliban_common.event import AgentEvent, RunEnd
from caliban_common.history import Repairer, TargetModel
from caliban_common.hook import Hooks
from caliban_common.message import Message, NewId, new_id, user
from caliban_common.tool import Tool, ToolSource
from caliban_provider.provider import Provider


class Agent:
    """Runs a model in a loop with tools. One agent may run many histories, also at the same time.

    `tools` are offered to the model in the given order, which is part of the prompt's cached prefix; a source
    is asked before every turn. `hooks` are asked before the `gate`, without which every call is allowed;
    without a `compactor` the model itself summarises. `new_id` names the messages of the runs. Raises
    `ToolDefinitionError` for two tools of one name; of a source that has two the first one is offered.
    """

    def __init__(  # noqa: PLR0913 - keyword-only: all that a run is made of comes together here
        self,
        provider: Provider,
        model: str,
        *,
        tools: Sequence[Tool] | ToolSource = (),
        gate: Gate | None = None,
        hooks: Hooks | None = None,
        options: AgentOptions | None = None,
        compactor: Compactor | None = None,
        new_id: NewId = new_id,
    ) -> None:
        self.provider = provider
        self.model = model
        self.options = options or AgentOptions()
        self.gate = gate or Gate()
        self.hooks = hooks
        self.compactor = compactor
        self._learned = Learned()
        self._tools = ToolSnapshots(source_of(tools))
        self._new_id = new_id

    def run(
        self,
        history: str | Message | Sequence[Message],
        *,
        prefix: PrefixWatch | None = None,
        inputs: InputSource | None = None,
        judged: bool = False,
    ) -> Run:
        """Start on `history`, whose last message is the user's: enter the result with `async with`.

        A string is a history of one user message. The outcome's messages begin with `history`, repaired only
        where it was sent. `prefix` is that of the conversation so far, where there is one; `inputs` is asked
        between turns what the user says meanwhile. The last message is a prompt that the hooks may keep out
        of the history, unless they have `judged` it before.
        """
        messages = self._messages(history)
        prompt = None
        if self.hooks is not None and not judged and _ends_in_prompt(messages):
            messages, prompt = messages[:-1], messages[-1]
        channel: Channel[AgentEvent] = Channel(self.options.event_buffer)
        watch = prefix or PrefixWatch()
        state = RunState(messages, channel, generation=watch.generation, new_id=self._new_id)
        caller = ModelCaller(
            self.provider,
            state,
            retry=self.options.retry,
            thinking_cap_chars=self.options.thinking_cap_chars,
            learned=self._learned,
        )
        hooks = HookCaller(self.hooks, state, self.options.session_id)
        dispatcher = Dispatcher(self.gate, hooks, self.options, state)
        loop = Loop(
            model=self.model,
            tools=self._tools,
            options=self.options,
            state=state,
            turn=Turn(caller, dispatcher, state, self.options),
            hooks=hooks,
            repairer=Repairer(TargetModel(family=self.provider.family, model=self.model)),
            compaction=self._compaction(hooks),
            nudges=Nudges(),
            prefix=watch,
            learned=self._learned,
            inputs=inputs,
        )
        return Run(loop, caller, channel, hooks, prompt=prompt)

    async def run_to_end(self, history: str | Message | Sequence[Message]) -> RunEnd:
        """Run `history` and give the outcome; what happens on the way goes unread."""
        async with self.run(history) as run:
            async for _ in run.events:
                pass
        return run.outcome

    def _messages(self, history: str | Message | Sequence[Message]) -> tuple[Message, ...]:
        if isinstance(history, str):
            return (user(history, id=self._new_id()),)
        if isinstance(history, Message):
            return (history,)
        return tuple(history)

    def _compaction(self, hooks: HookCaller) -> Compaction:
        window = self.provider.capabilities(self.model).context_tokens
        return Compaction(
            model=self.model,
            provider=self.provider,
            tools=self._tools,
            compactor=self.compactor,
            window_tokens=window,
            micro=self.options.micro_compact,
            trigger=Trigger(threshold=self.options.auto_compact_threshold),
            hooks=hooks,
        )


def _ends_in_prompt(messages: tuple[Message, ...]) -> bool:
    return bool(messages) and messages[-1].role == "user" and not messages[-1].tool_results
