"""The ledger of a run without a limit: there is nothing to ask before a call, and prices wait for its end.

Neither this module nor its package loads what knows prices, so that a run makes its ledger before its first
request and loads 4 ms of modules while nobody waits for them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct

from caliban_common.event import Warned
from caliban_common.stop import Stop
from caliban_common.usage import Usage

if TYPE_CHECKING:
    from caliban_telemetry.account import Account


class ModelCall(Struct, frozen=True, kw_only=True):
    """A call that is about to be made; `agent` is empty for the main one, `prompt_tokens` an estimate."""

    provider: str
    model: str
    prompt_tokens: int
    max_tokens: int
    agent: str = ""


class UnlimitedLedger:
    """Lets every call be made, and has the account charge it when it has ended.

    `make_account` makes the account with the first call to charge. Without `is_told` nobody will ask what was
    spent, and nothing is charged.
    """

    def __init__(self, make_account: Callable[[], Account], *, is_told: bool = True) -> None:
        self.account: Account | None = None
        self._make_account = make_account
        self._is_told = is_told
        self._numbers = count(1)
        self._under_way: dict[int, ModelCall] = {}

    async def before_call(
        self, *, provider: str, model: str, prompt_tokens: int, max_tokens: int, agent: str = ""
    ) -> int | Stop:
        """Leave to make a call: the number to settle it by."""
        number = next(self._numbers)
        self._under_way[number] = ModelCall(
            provider=provider, model=model, prompt_tokens=prompt_tokens, max_tokens=max_tokens, agent=agent
        )
        return number

    def after_call(self, number: int, usage: Usage, *, seen_output_tokens: int = 0) -> Warned | None:
        """Charge call `number`; see `Account.after_call`."""
        call = self._under_way.pop(number, None)
        if call is None or not self._is_told:
            return None
        if self.account is None:
            self.account = self._make_account()
        return self.account.charge(call, usage, seen_output_tokens=seen_output_tokens)
