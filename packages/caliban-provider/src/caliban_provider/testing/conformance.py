"""What an adapter of an HTTP wire must withstand: a suite that third parties run on theirs.

The adapter describes its vendor's wire once, and gets one check per promise of the contract:

    class MyWire(Wire):
        ...

    @pytest.mark.parametrize("backend", ["asyncio", "trio"])
    @pytest.mark.parametrize("check", wire_checks(MyWire()), ids=str)
    def test_keeps_the_contract(check, backend):
        check.run(backend)

A provider without an HTTP wire runs `contract_checks` alone. Nothing here needs pytest.
"""

from __future__ import annotations

from caliban_common.message import ToolUseBlock
from caliban_provider.testing import failures, streams
from caliban_provider.testing.contract import Check, contract_checks
from caliban_provider.testing.vendor import Vendor, VendorCheck, Wire

__all__ = ["Check", "Wire", "contract_checks", "wire_checks"]


def wire_checks(wire: Wire) -> tuple[Check, ...]:
    """Every check that fits the wire, each with a server of its own."""
    fitting: dict[str, VendorCheck] = {**streams.ALWAYS, **failures.ALWAYS}
    if wire.textual:
        fitting.update(streams.TEXTUAL)
    if wire.parallel:
        fitting.update(streams.PARALLEL)
    if wire.thinking:
        fitting.update(streams.THINKING)
    call = ToolUseBlock(id="call_1", name="Read", input={})
    if wire.interleaved(call, call) is not None:
        fitting.update(streams.INTERLEAVED)
    if wire.overloaded() is not None:
        fitting.update(failures.IN_STREAM)
    return tuple(_check(wire, name, check) for name, check in fitting.items())


def _check(wire: Wire, name: str, check: VendorCheck) -> Check:
    async def run() -> None:
        with Vendor(wire) as vendor:
            await check(vendor)
            assert not vendor.complaints, f"the vendor would refuse the request: {vendor.complaints}"

    return Check(name, run)
