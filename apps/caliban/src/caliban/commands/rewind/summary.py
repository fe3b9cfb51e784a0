"""`caliban rewind --summarize`: a part of a conversation becomes a summary, written by its model."""

from __future__ import annotations

from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.cli.options import Options
from caliban.commands.report import report
from caliban.compose.app import open_app
from caliban.errors import CommandRefused
from caliban.faces.cancellable import run_cancellable
from caliban.stdio import print_text, write_out
from caliban_checkpoint import Manifest
from caliban_common.codec import dumps
from caliban_common.errors import CalibanError
from caliban_common.text import plural


def summarise(invocation: Invocation, session: str, manifest: Manifest) -> int:
    """Ask the model for the summary, and put it in the place of what it is of."""
    values, options = invocation.values, invocation.options
    wanted = replace(options, session=replace(options.session, resume=session, continue_session=False))
    side = values["summarize"]
    before, after = run_cancellable(lambda: _summarised(wanted, manifest, side), invocation.signals)
    if values["json"]:
        data = {"session": session, "to": values["to"], "summarized": side, "before": before, "after": after}
        return write_out(dumps(data) + b"\n")
    where = "from prompt {} on" if side == "from" else "before prompt {}"
    words = f"what was said {where.format(manifest.prompt_index)} is a summary now"
    return print_text(f"{words}: {plural(before, 'message')} became {after}\n")


async def _summarised(options: Options, manifest: Manifest, side: str) -> tuple[int, int]:
    """How many messages there were and are. Raises `CommandRefused` where nothing was done."""
    async with open_app(options, report) as app:
        session = app.session()
        try:
            before = len(session.messages)
            try:
                event = await session.summarise_part(
                    manifest.prompt_id, "from" if side == "from" else "before"
                )
            except CalibanError as error:
                raise CommandRefused(f"nothing was summarised: {error.message}", hint=error.hint) from error
            if event is None:
                what = "is no part of the conversation any more, or nothing stands before it"
                raise CommandRefused(f"nothing was summarised: prompt {manifest.prompt_index} {what}")
            if session.store_error is not None:
                raise session.store_error
            return before, len(event.messages)
        finally:
            await session.aclose("summarised")
