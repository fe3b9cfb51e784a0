"""The agent: a provider, tools and a gate, ready to run histories."""

from __future__ import annotations

from collections.abc import Sequence

from caliban_agent_core.channel import Channel
from caliban_agent_core.compact.trigger import Trigger
from caliban_agent_core.compaction import Compaction
from caliban_agent_core.dispatch import Dispatcher
from caliban_agent_core.errors import ToolDefinitionError
from caliban_agent_core.gate import Gate
from caliban_agent_core.hooks import HookCaller
from caliban_agent_core.learned import Learned
from caliban_agent_core.loop import Loop
from caliban_agent_core.nudge import Nudges
from caliban_agent_core.options import AgentOptions
from caliban_agent_core.ports import Compactor
from caliban_agent_core.prefix import PrefixWatch
from caliban_agent_core.reply import ModelCaller
from caliban_agent_core.run import Run
from caliban_agent_core.state import RunState
from caliban_agent_core.turn import Turn
from caliban_common.event import AgentEvent, RunEnd
from caliban_common.history import Repairer, TargetModel
from caliban_common.message import Message, user
from caliban_common.tool import Tool
from caliban_provider.provider import Provider


class Agent:
    """Runs a model in a loop with tools. One agent may run many histories, also at the same time.

    `tools` are offered to the model in the given order, which is part of the prompt's cached prefix. Without
    a `gate` every call is allowed; without a `compactor` the model itself summarises. Raises
    `ToolDefinitionError` for two tools of one name.
    """

    def __init__(
        self,
        provider: Provider,
        model: str,
        *,
        tools: Sequence[Tool] = (),
        gate: Gate | None = None,
        options: AgentOptions | None = None,
        compactor: Compactor | None = None,
    ) -> None:
        self.provider = provider
        self.model = model
        self.options = options or AgentOptions()
        self.gate = gate or Gate()
        self.compactor = compactor
        self._learned = Learned()
        self.tools = {tool.spec.name: tool for tool in tools}
        if len(self.tools) != len(tools):
            names = sorted({t.spec.name for t in tools if sum(o.spec.name == t.spec.name for o in tools) > 1})
            raise ToolDefinitionError(f"two tools share the name {names[0]!r}", hint="give each its own name")

    def run(self, history: str | Message | Sequence[Message], *, prefix: PrefixWatch | None = None) -> Run:
        """Start on `history`, whose last message is the user's: enter the result with `async with`.

        A string is a history of one user message. The outcome's messages begin with `history`, repaired only
        where it was sent. `prefix` is that of the conversation so far, where there is one.
        """
        messages = _messages(history)
        channel: Channel[AgentEvent] = Channel(self.options.event_buffer)
        watch = prefix or PrefixWatch()
        state = RunState(messages, channel, generation=watch.generation)
        caller = ModelCaller(
            self.provider,
            state,
            retry=self.options.retry,
            thinking_cap_chars=self.options.thinking_cap_chars,
            learned=self._learned,
        )
        hooks = HookCaller(self.gate.hooks, state, self.options.session_id)
        dispatcher = Dispatcher(self.tools, self.gate, hooks, self.options, state)
        loop = Loop(
            model=self.model,
            specs=tuple(tool.spec for tool in self.tools.values()),
            options=self.options,
            state=state,
            turn=Turn(caller, dispatcher, state, self.options),
            hooks=hooks,
            repairer=Repairer(TargetModel(family=self.provider.family, model=self.model)),
            compaction=self._compaction(),
            nudges=Nudges(),
            prefix=watch,
            learned=self._learned,
        )
        return Run(loop, caller, channel, hooks)

    async def run_to_end(self, history: str | Message | Sequence[Message]) -> RunEnd:
        """Run `history` and give the outcome; what happens on the way goes unread."""
        async with self.run(history) as run:
            async for _ in run.events:
                pass
        return run.outcome

    def _compaction(self) -> Compaction:
        window = self.provider.capabilities(self.model).context_tokens
        return Compaction(
            model=self.model,
            provider=self.provider,
            compactor=self.compactor,
            window_tokens=window,
            micro=self.options.micro_compact,
            trigger=Trigger(threshold=self.options.auto_compact_threshold),
        )


def _messages(history: str | Message | Sequence[Message]) -> tuple[Message, ...]:
    if isinstance(history, str):
        return (user(history),)
    if isinstance(history, Message):
        return (history,)
    return tuple(history)
