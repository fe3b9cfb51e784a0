"""Keys that pass and are refused, over scripted providers of which each knows one key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from caliban_provider.credential import Credential
from caliban_provider.errors import AuthenticationError, Overloaded, ProviderError, StreamInterrupted
from caliban_provider.keyed import PLACEHOLDER, KeyedProvider
from caliban_provider.provider import make_ready
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import MessageStop
from caliban_provider.testing.contract import ask, assembled, collect, contract_checks
from caliban_provider.testing.scripted import Reply, ScriptedProvider, failure, reply

pytestmark = pytest.mark.anyio
ASK = ask("Go on.", model="m-1")


class Keys:
    """Gives out keys in order, the last one for ever; each is good for `lasts_s`."""

    def __init__(self, *keys: str, lasts_s: float = 300) -> None:
        self.now_s = 1000.0
        self.asked: list[bool] = []
        self.error: ProviderError | None = None
        self._keys = keys
        self._lasts_s = lasts_s

    async def fetch(self, refused: bool) -> Credential[str]:
        self.asked.append(refused)
        await anyio.lowlevel.checkpoint()
        if self.error is not None:
            raise self.error
        key = self._keys[min(len(self.asked), len(self._keys)) - 1]
        return Credential(value=key, expires_at_s=self.now_s + self._lasts_s)


class Vendor:
    """Makes a provider for each key that is asked for, and refuses the calls of those in `refused`."""

    def __init__(
        self, *refused: str, script: Callable[[CompletionRequest], Reply] | None = None, after: int = 0
    ) -> None:
        self.refused = set(refused)
        self.made: dict[str, ScriptedProvider] = {}
        self.calls: list[str] = []
        self._script = script
        self._after = after

    def make(self, key: str) -> ScriptedProvider:
        def answer(request: CompletionRequest) -> Reply:
            self.calls.append(key)
            if key in self.refused:
                return reply("no", error=AuthenticationError(f"401: {key}"), error_after=self._after)
            return self._script(request) if self._script is not None else reply(f"by {key}")

        self.made[key] = ScriptedProvider(answer, name="vendor", family="vendors")
        return self.made[key]


def keyed(keys: Keys, vendor: Vendor) -> KeyedProvider:
    return KeyedProvider(vendor.make, keys.fetch, clock=lambda: keys.now_s)


async def words(provider: KeyedProvider) -> str:
    return assembled(await collect(provider, ASK)).message("f", "m").text


@pytest.mark.parametrize(
    "check",
    contract_checks(lambda: keyed(Keys("k"), Vendor(script=lambda _: reply("a word"))), model="m"),
    ids=str,
)
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_it_keeps_the_contract(check, backend):
    check.run(backend)


async def test_facts_need_no_key() -> None:
    keys, vendor = Keys("k"), Vendor()
    provider = keyed(keys, vendor)
    facts = provider.name, provider.family, provider.capabilities("m").vision
    assert facts == ("vendor", "vendors", True)
    assert (keys.asked, list(vendor.made), vendor.calls) == ([], [PLACEHOLDER], [])


async def test_what_cannot_be_made_is_told_at_once() -> None:
    def make(key: str) -> ScriptedProvider:
        raise ProviderError("the base URL is none")

    with pytest.raises(ProviderError, match="the base URL is none"):
        KeyedProvider(make, Keys("k").fetch)


async def test_a_provider_that_looks_at_its_key_is_known_once_there_is_one() -> None:
    def make(key: str) -> ScriptedProvider:
        if not key.startswith("mine-"):
            raise AuthenticationError("a key of mine begins with mine-")
        return ScriptedProvider([reply("well")], name="vendor")

    provider = KeyedProvider(make, Keys("mine-1").fetch)
    with pytest.raises(AuthenticationError, match="begins with mine-"):
        _ = provider.name
    await provider.aclose()
    await provider.ready()
    assert (provider.name, await words(provider)) == ("vendor", "well")
    with pytest.raises(AuthenticationError, match="begins with mine-"):
        await KeyedProvider(make, Keys("other").fetch).ready()


async def test_a_key_is_used_until_it_has_passed() -> None:
    keys, vendor = Keys("one", "two"), Vendor()
    provider = keyed(keys, vendor)
    answers = [await words(provider)]
    keys.now_s += 299
    answers.append(await words(provider))
    keys.now_s += 1
    answers.append(await words(provider))
    assert answers == ["by one", "by one", "by two"]
    assert keys.asked == [False, False]
    assert (vendor.made["one"].closed, vendor.made["two"].closed) == (True, False)


async def test_the_same_key_again_keeps_its_provider() -> None:
    keys, vendor = Keys("one", lasts_s=0), Vendor()
    provider = keyed(keys, vendor)
    await words(provider)
    first = vendor.made["one"]
    await words(provider)
    assert vendor.made["one"] is first and not first.closed
    assert keys.asked == [False, False]


@pytest.mark.parametrize("after", [0, 1])
async def test_a_refused_key_is_renewed_at_once_unless_the_reply_has_begun(after: int) -> None:
    keys, vendor = Keys("one", "two"), Vendor("one", after=after)
    provider = keyed(keys, vendor)
    if after:
        with pytest.raises(AuthenticationError):
            await words(provider)
        assert (vendor.calls, keys.asked) == (["one"], [False])
    else:
        assert await words(provider) == "by two"
        assert (vendor.calls, keys.asked) == (["one", "two"], [False, True])


async def test_a_refusal_in_place_of_the_first_event_counts_as_one_of_the_call() -> None:
    class Late(ScriptedProvider):
        @asynccontextmanager
        async def stream(self, request):
            yield self.events(super().stream(request))

        async def events(self, call):
            async with call as events:
                async for event in events:
                    yield event

    def make(key: str) -> ScriptedProvider:
        return Late([failure(AuthenticationError("401"))] if key == "one" else [reply("well")])

    keys = Keys("one", "two")
    provider = KeyedProvider(make, keys.fetch, clock=lambda: keys.now_s)
    assert await words(provider) == "well"


async def test_a_second_refusal_is_the_end_of_it() -> None:
    keys, vendor = Keys("one", "two"), Vendor("one", "two")
    with pytest.raises(AuthenticationError, match="401"):
        await words(keyed(keys, vendor))
    assert (vendor.calls, keys.asked) == (["one", "two"], [False, True])


async def test_the_same_key_is_not_tried_twice() -> None:
    keys, vendor = Keys("one"), Vendor("one")
    provider = keyed(keys, vendor)
    for _ in range(2):
        with pytest.raises(AuthenticationError):
            await words(provider)
    assert (vendor.calls, keys.asked) == (["one", "one"], [False, True, True])


async def test_other_failures_renew_nothing() -> None:
    keys, vendor = Keys("one", "two"), Vendor(script=lambda _: failure(Overloaded("busy")))
    with pytest.raises(Overloaded):
        await words(keyed(keys, vendor))
    assert keys.asked == [False]


async def test_what_the_source_says_reaches_the_caller_and_the_next_call_asks_again() -> None:
    keys, vendor = Keys("one", "two"), Vendor()
    provider = keyed(keys, vendor)
    keys.error = AuthenticationError("the vault is locked")
    with pytest.raises(AuthenticationError, match="the vault is locked"):
        await words(provider)
    assert keys.asked == [False]
    keys.error = None
    assert await words(provider) == "by two"
    keys.error = AuthenticationError("the vault is locked")
    vendor.refused.add("two")
    with pytest.raises(AuthenticationError, match="the vault is locked"):
        await words(provider)
    assert keys.asked == [False, False, True]


async def test_the_list_of_models_is_asked_for_with_a_key_and_again_with_another() -> None:
    class Listed(ScriptedProvider):
        async def list_models(self):
            if self.name == "one":
                raise AuthenticationError("403")
            return await super().list_models()

    keys = Keys("one", "two")
    provider = KeyedProvider(lambda key: Listed(name=key), keys.fetch, clock=lambda: keys.now_s)
    assert [model.id for model in await provider.list_models()] == ["scripted-1"]
    assert keys.asked == [False, True]


async def test_a_key_can_be_fetched_ahead() -> None:
    keys, vendor = Keys("one"), Vendor()
    provider = keyed(keys, vendor)
    await make_ready(provider)
    assert (keys.asked, list(vendor.made)) == ([False], [PLACEHOLDER, "one"])
    assert await words(provider) == "by one"
    assert keys.asked == [False]
    await make_ready(vendor.made["one"])  # it has nothing to get ready


async def at_once(tasks: int, provider: KeyedProvider) -> Sequence[str]:
    answers: list[str] = []

    async def one() -> None:
        answers.append(await words(provider))

    async with anyio.create_task_group() as group:
        for _ in range(tasks):
            group.start_soon(one)
    return answers


async def test_many_calls_at_once_share_one_fetch() -> None:
    keys, vendor = Keys("one"), Vendor()
    assert await at_once(8, keyed(keys, vendor)) == ["by one"] * 8
    assert keys.asked == [False]


async def test_many_refusals_at_once_share_one_renewal() -> None:
    keys, vendor = Keys("one", "two"), Vendor("one")
    assert await at_once(8, keyed(keys, vendor)) == ["by two"] * 8
    assert keys.asked == [False, True]
    assert vendor.made["one"].closed


async def test_a_refusal_that_comes_late_takes_the_key_that_somebody_else_got() -> None:
    slow, reached = anyio.Event(), anyio.Event()
    answers = [
        Reply(error=AuthenticationError("401"), wait=slow, reached=reached),
        failure(AuthenticationError("401")),
    ]
    made = {"one": ScriptedProvider(answers), "two": ScriptedProvider([reply("a"), reply("b")])}
    keys = Keys("one", "two", "three")
    provider = KeyedProvider(
        lambda key: made.get(key) or ScriptedProvider(), keys.fetch, clock=lambda: keys.now_s
    )
    texts: list[str] = []

    async def first() -> None:
        texts.append(await words(provider))

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        await reached.wait()
        texts.append(await words(provider))
        slow.set()
    assert (texts, keys.asked) == (["a", "b"], [False, True])
    assert made["one"].closed


async def test_the_provider_of_an_earlier_key_is_closed_when_its_last_reply_has_ended() -> None:
    keys, vendor = Keys("one", "two"), Vendor()
    provider = keyed(keys, vendor)
    async with provider.stream(ASK) as events:
        await anext(events)
        keys.now_s += 300
        assert await words(provider) == "by two"
        assert not vendor.made["one"].closed
        assert isinstance([event async for event in events][-1], MessageStop)
    assert (vendor.made["one"].closed, vendor.made["two"].closed) == (True, False)
    await provider.aclose()
    await provider.aclose()
    assert all(made.closed for made in vendor.made.values())


async def test_closing_closes_what_is_still_in_use() -> None:
    keys, vendor = Keys("one", "two"), Vendor()
    provider = keyed(keys, vendor)
    async with provider.stream(ASK) as events:
        await anext(events)
        keys.now_s += 300
        await words(provider)
        await provider.aclose()
        assert all(made.closed for made in vendor.made.values())


async def test_a_cancelled_fetch_leaves_the_next_call_to_ask_again() -> None:
    entered = anyio.Event()
    asked: list[bool] = []

    async def fetch(refused: bool) -> Credential[str]:
        asked.append(refused)
        if len(asked) == 1:
            entered.set()
            await anyio.sleep_forever()
        return Credential(value="one")

    provider = KeyedProvider(Vendor().make, fetch)
    async with anyio.create_task_group() as group:
        group.start_soon(words, provider)
        await entered.wait()
        group.cancel_scope.cancel()
    assert await words(provider) == "by one"
    assert asked == [False, False]


@pytest.mark.parametrize("after", [0, 2])
async def test_an_error_that_repeats_the_key_is_told_without_it(after: int) -> None:
    key = "canary-0123456789"
    error = StreamInterrupted(f"cut while {key} was sent", hint=f"look at {key}")
    keys, vendor = Keys(key), Vendor(script=lambda _: reply("words", error=error, error_after=after))
    with pytest.raises(StreamInterrupted) as caught:
        await words(keyed(keys, vendor))
    shown = caught.value
    assert (shown.message, shown.hint) == ("cut while [key] was sent", "look at [key]")
    assert key not in str(shown) + repr(shown)


async def test_attributes_of_the_provider_are_there() -> None:
    keys, vendor = Keys("one"), Vendor()
    provider = keyed(keys, vendor)
    assert provider.requests == []
    await words(provider)
    assert provider.requests == [ASK]
    with pytest.raises(AttributeError):
        _ = provider.of_nobody
