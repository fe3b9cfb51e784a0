"""The one module that knows the runtime: llama.cpp through the bindings `xllamacpp`, inside this process.

Everything here blocks and belongs on the model's own thread. What the bindings do (release 2026.10): loading
holds Python's global lock; answering releases it between chunks; a callback that returns true ends the
answer; the log is silent at verbosity -1. They always open an HTTP listener: here it is a socket in a private
directory that is removed at once, so nothing can connect; where there are no such sockets it is a port on the
loopback interface behind a random key that nobody is told.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from caliban_provider.errors import BadResponse, InvalidRequest
from caliban_provider_local.errors import LoadFailed
from caliban_provider_local.model import LocalModel
from caliban_provider_local.options import LocalOptions

OnChunk: TypeAlias = Callable[[Mapping[str, Any]], bool]
"""Takes one chunk; true ends the answer."""

INSTALL = "pip install 'caliban[local]'"

_BATCH_TOKENS = 64
"""How much of a prompt is read between two looks at whether anybody still wants the answer."""

_CACHE_MIB = 256
_SOCKET_PATH_LIMIT = 100
_SILENT = -1


class Runtime(Protocol):
    """A loaded model. It gives its memory back when the last reference to it goes."""

    def chat(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None:
        """Answer `body`, chunk by chunk, until the reply ends or `on_chunk` says so.

        Raises `InvalidRequest` and `BadResponse`; an error inside the reply comes as a chunk.
        """
        ...


Loader: TypeAlias = Callable[[LocalModel, LocalOptions], Runtime]


def expect_runtime() -> None:
    """Raise `LoadFailed` where the bindings are not installed; they are not loaded, which takes long."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise LoadFailed("the runtime for local models, xllamacpp, is not installed", hint=INSTALL)


def load_runtime(model: LocalModel, options: LocalOptions) -> Runtime:
    """Load `model`. Raises `LoadFailed`."""
    try:
        import xllamacpp  # type: ignore[import-untyped]
    except ImportError as error:
        raise LoadFailed(f"the runtime for local models cannot be imported: {error}", hint=INSTALL) from error
    params = xllamacpp.CommonParams()
    _configure(params, model, options)
    directory = _private_directory()
    try:
        if directory is not None:
            params.hostnames = [str(directory / "s.sock")]
        server = xllamacpp.Server(params)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise LoadFailed(
            f"the runtime cannot load {model.path}: {_reason(error)}",
            hint=f"a model of {model.header.size_bytes / 1e6:,.0f} MB needs at least that much free memory; "
            f"its architecture is {model.header.architecture or 'unknown'}",
        ) from error
    finally:
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)
    return _Llama(server)


class _Llama:
    """The runtime's server object behind our protocol."""

    def __init__(self, server: Any) -> None:
        self._server = server

    def chat(self, body: Mapping[str, Any], on_chunk: OnChunk) -> None:
        try:
            self._server.handle_chat_completions(body, on_chunk)
        except ValueError as error:
            raise InvalidRequest(f"the local model's runtime refused the request: {error}") from error
        except RuntimeError as error:
            raise BadResponse(f"the local model's runtime failed: {error}") from error


def _configure(params: Any, model: LocalModel, options: LocalOptions) -> None:
    params.model.path = str(model.path)
    params.n_ctx = model.context_tokens
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.warmup = False
    params.verbosity = _SILENT
    params.cache_ram_mib = _CACHE_MIB
    params.prefill_assistant = False
    if model.chat_template is not None:
        params.chat_template = model.chat_template
    params.api_keys = [secrets.token_urlsafe(32)]
    params.cors_origins = ""
    params.endpoint_slots = False
    params.ui = False
    params.n_threads_http = 1


def _private_directory() -> Path | None:
    """A directory for the listener's socket that only this user can enter; `None` where sockets are ports."""
    if os.name != "posix":
        return None
    for parent in (None, "/tmp"):
        try:
            directory = Path(tempfile.mkdtemp(prefix="caliban-", dir=parent))
        except OSError:
            continue
        if len(str(directory)) < _SOCKET_PATH_LIMIT - len("/s.sock"):
            return directory
        directory.rmdir()
    return None


def _reason(error: Exception) -> str:
    return "there is not enough memory" if isinstance(error, MemoryError) else str(error)
