"""What a program reads of a run that could not start: a beginning, where the format has one, and a result."""

from __future__ import annotations

from caliban_common.codec import dumps
from caliban_drive.result import PromptResult
from caliban_headless.frames import Init, init_frame, result_frame


def failed_output(result: PromptResult, *, begins: bool, cwd: str) -> bytes:
    """The `result` as a line of JSON, behind an init frame where there was none yet."""
    frames = [result_frame(result)]
    if begins:
        init = Init(
            session_id="",
            model="",
            tools=(),
            setting_sources=(),
            bare=False,
            cwd=cwd,
            permission_mode="default",
        )
        frames.insert(0, init_frame(init))
    return b"".join(dumps(frame) + b"\n" for frame in frames)
