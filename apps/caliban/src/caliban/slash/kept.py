"""What a command changes and keeps in the user's own settings; for this session where it cannot be kept."""

from __future__ import annotations

import anyio.to_thread

from caliban.commands.config.change import effects_of, setting_address, write_setting
from caliban.compose.app import App
from caliban.compose.settings import scope_file
from caliban_common.errors import CalibanError


async def kept_words(app: App, name: str, value: str) -> str:
    """Keep `value`, which holds already, as the setting `name`; where it is kept, or why it is not."""
    address, file = setting_address(name), scope_file("user", app.workspace)
    await app.live.refresh(app)  # what others have written is theirs
    try:
        await anyio.to_thread.run_sync(write_setting, address, file, value)
    except CalibanError as error:
        why = " ".join(filter(None, (f"{error.message};" if error.hint else error.message, error.hint)))
        return f"for this session only: it is not saved: {why}"
    await app.live.refresh(app, told=address.path)
    return "; ".join((f"saved in {file.path}", *effects_of(app.options, address, file.scope)))
