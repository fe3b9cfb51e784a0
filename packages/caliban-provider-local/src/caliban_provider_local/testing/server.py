"""A server that nobody here wrote: llama.cpp's own, with the packaged weights, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from caliban_provider.errors import ModelUnavailable
from caliban_provider_local.runtime import expect_runtime
from caliban_provider_local.weights import PACKAGED_MODEL, find_weights

_SERVE = """
import sys
import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, params.api_keys, template = sys.argv[1], [sys.argv[2]], sys.argv[3]
params.n_ctx, params.n_parallel, params.warmup, params.verbosity = 2048, 1, False, -1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = params.n_threads_http = 1
params.sampling.seed, params.use_jinja = 1, True
if template:
    params.chat_template = template
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def llama_server(key: str, *, template: str = "") -> Iterator[str]:
    """The address of a server that lets in `key`, for as long as the body runs.

    It has 2,048 tokens of context and one thread. `template` stands for the model's own chat template. Raises
    `ProviderError` where the runtime or the weights are not installed, or where it does not start.
    """
    expect_runtime()
    command = [sys.executable, "-c", _SERVE, str(find_weights(PACKAGED_MODEL)), key, template]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            line = next((line for line in process.stdout if line.startswith("http")), None)
            if line is None:
                raise ModelUnavailable("the server of llama.cpp did not start")
            yield line.strip()
        finally:
            process.kill()
