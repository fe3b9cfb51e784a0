"""What is known of a model before it is loaded, and what follows from it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_common.paths import expand_user
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import InvalidRequest
from caliban_provider_local.gguf import GgufHeader, read_header
from caliban_provider_local.options import LocalOptions
from caliban_provider_local.weights import find_weights

ToolForm: TypeAlias = Literal["none", "schema", "native"]
"""How tools are offered when the model may choose: not at all, by a JSON form of ours, by its template."""

SMALL_PARAMETERS = 400_000_000
"""Smaller models are not offered tools unasked: the packaged one (135 M) chose right in 3 trials of 10."""

SMALL_CONTEXT_TOKENS = 4096
LARGE_CONTEXT_TOKENS = 16384

_TEMPLATE_LIMIT_BYTES = 1 << 20


class LocalModel(Struct, frozen=True, kw_only=True):
    """A model that can be loaded.

    `id` is how the operator named it. `context_tokens` is the window it will be loaded with. `chat_template`
    is set where it replaces the one in the weights.
    """

    id: str
    path: Path
    header: GgufHeader
    context_tokens: int
    tool_form: ToolForm
    chat_template: str | None = None

    @property
    def small(self) -> bool:
        """Whether it needs a short leash: cautious sampling, no tools unless the operator insists."""
        return self.header.parameters is not None and self.header.parameters < SMALL_PARAMETERS

    @property
    def title(self) -> str:
        """What a person is shown: the file's name says more than what most files call themselves inside."""
        return f"{self.path.stem} ({self.header.size_bytes / 1e6:,.0f} MB)"

    def capabilities(self) -> Capabilities:
        """What it can do as it will be loaded; a quarter of the window is kept for the reply."""
        return Capabilities(
            context_tokens=self.context_tokens,
            max_output_tokens=max(1, self.context_tokens // 4),
            tools=self.tool_form != "none",
            parallel_tools=False,
            vision=False,
            documents=False,
            structured_output=True,
        )


def find_model(name: str, options: LocalOptions) -> LocalModel:
    """The model that `name` stands for; reads the head of its file and nothing more.

    Raises `ModelUnavailable`, and `InvalidRequest` for a template file that cannot be read.
    """
    path = find_weights(name)
    header = read_header(path)
    template = _template(options)
    small = header.parameters is not None and header.parameters < SMALL_PARAMETERS
    wanted = options.context_tokens or (SMALL_CONTEXT_TOKENS if small else LARGE_CONTEXT_TOKENS)
    return LocalModel(
        id=name,
        path=path,
        header=header,
        context_tokens=min(wanted, header.context_tokens or wanted),
        tool_form=_tool_form(small, template or header.chat_template or "", path.name, options),
        chat_template=template,
    )


def _template(options: LocalOptions) -> str | None:
    if options.chat_template_file is None:
        return None
    try:
        data = read_regular(expand_user(options.chat_template_file), max_bytes=_TEMPLATE_LIMIT_BYTES)
        return data.decode("utf-8")
    except CalibanError as error:
        raise InvalidRequest(f"the chat template is not usable: {error.message}", hint=error.hint) from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the chat template {options.chat_template_file} is not UTF-8 text") from error


_BROKEN_NATIVE = re.compile(r"qwen-?2\.5-?coder")
"""Families that write their own calls wrong by the template that their weights bring."""


def _tool_form(small: bool, template: str, name: str, options: LocalOptions) -> ToolForm:
    if options.tools == "off" or (options.tools == "auto" and small):
        return "none"
    if options.tools == "form":
        return "schema"
    if options.tools == "native":
        return "native"
    broken = _BROKEN_NATIVE.search(name.lower()) is not None
    return "native" if "tools" in template and not broken else "schema"
