"""What can go wrong with a model in this process.

    caliban_provider.errors.ProviderError
    ├── ModelUnavailable
    │   └── NotAModel        the file is no GGUF, or a broken one
    └── LoadFailed           the runtime could not take the model, or did not survive it

Everything else is said with the errors of `caliban_provider.errors`.
"""

from __future__ import annotations

from typing import ClassVar

from caliban_provider.errors import ErrorCategory, ModelUnavailable, ProviderError


class NotAModel(ModelUnavailable):
    """The file is not a model that can be read: the message names the file and what is wrong in it."""


class LoadFailed(ProviderError):
    """The runtime refused the model: too little memory, an architecture it does not know, broken tensors.

    Asking again does not help, so it is never retried.
    """

    category: ClassVar[ErrorCategory] = "server_error"
