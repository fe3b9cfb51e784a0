"""An editor of the person's own for the draft: the terminal is given over, and taken back."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import anyio.to_thread

from caliban_common.errors import CalibanError
from caliban_common.files import read_regular, write_atomic
from caliban_common.text import one_line
from caliban_tui.errors import EditorFailed

FALLBACK: Final = "vi"
MAX_DRAFT_BYTES: Final = 10_000_000


def editor_words(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The program and its arguments: `$VISUAL`, else `$EDITOR`, else vi; parted at blanks, no shell."""
    for name in ("VISUAL", "EDITOR"):
        words = tuple(environ.get(name, "").split())
        if words:
            return words
    return (FALLBACK,)


async def edited(
    text: str,
    words: Sequence[str],
    run: Callable[[Sequence[str]], int],
    given_over: Callable[[], AbstractContextManager[None]],
) -> str:
    """`text` as the editor leaves it, without a newline at its end. Raises `EditorFailed`."""
    folder = tempfile.mkdtemp(prefix="caliban-draft-")
    path = Path(folder) / "draft.md"
    name = one_line(Path(words[0]).name, max_chars=40)
    try:
        write_atomic(path, text.encode("utf-8", "replace"), mode=0o600, durable=False)
        with given_over():
            code = await anyio.to_thread.run_sync(run, (*words, str(path)))
        if code:
            raise EditorFailed(f"{name} ended with code {code}; the draft is as it was")
        data = read_regular(path, max_bytes=MAX_DRAFT_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise EditorFailed(
            f"the editor {name} cannot be started: {reason}", hint="set VISUAL or EDITOR to one that is there"
        ) from error
    except EditorFailed:
        raise
    except CalibanError as error:
        raise EditorFailed(f"what {name} wrote cannot be read: {error.message}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return data.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n")
