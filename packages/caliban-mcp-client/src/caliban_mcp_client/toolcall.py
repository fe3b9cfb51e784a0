"""What is known of a server's tools when one is called: headers, schemas, what may be repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from caliban_mcp_client.entries import shown_name
from caliban_mcp_client.errors import CallRefused
from caliban_mcp_client.target import ServerOptions
from caliban_mcp_client.values import McpTool

if TYPE_CHECKING:
    from caliban_mcp_client.content import CallResult
    from caliban_mcp_client.paramheaders import ParamHeader
    from caliban_mcp_client.questions import QuestionDesk

HEADER_MISMATCH: Final = -32020
URL_NEEDED: Final = -32042
INVALID_REQUEST: Final = -32600
INTERNAL_ERROR: Final = -32603
_MOST_URLS: Final = 8


class ToolCalls:
    """The tools of the last list."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._tools: dict[str, McpTool] = {}
        self._headers: dict[str, tuple[ParamHeader, ...]] = {}

    def learn(
        self, tools: tuple[McpTool, ...], say: Callable[[str], None], *, has_headers: bool
    ) -> tuple[McpTool, ...]:
        """Those of a new list that can be called; over HTTP, a tool whose headers are wrong cannot."""
        usable: list[McpTool] = []
        self._tools, self._headers = {}, {}
        for tool in tools:
            if has_headers:
                from caliban_mcp_client import paramheaders

                fault, headers = paramheaders.read(tool.input_schema)
                if fault is not None:
                    say(f"the tool {shown_name(tool.name)} is left out: {fault}")
                    continue
                self._headers[tool.name] = headers
            self._tools[tool.name] = tool
            usable.append(tool)
        return tuple(usable)

    def is_known(self, name: str) -> bool:
        """Whether it is in the last list."""
        return name in self._tools

    def is_idempotent(self, name: str) -> bool:
        """Whether the server claims that calling it twice is calling it once."""
        tool = self._tools.get(name)
        return tool is not None and tool.annotations.idempotent is True

    def headers(self, params: Mapping[str, Any]) -> Mapping[str, str]:
        """The headers that repeat arguments of a call."""
        repeated = self._headers.get(params["name"])
        if not repeated:
            return {}
        from caliban_mcp_client import paramheaders

        return paramheaders.values(repeated, params["arguments"])

    @staticmethod
    def is_header_mismatch(error: CallRefused) -> bool:
        """Whether the server knows another schema of the tool: it has not run it."""
        return error.code == HEADER_MISMATCH

    async def may_go_on(self, error: CallRefused, questions: QuestionDesk) -> bool:
        """Ask a person to open the addresses that a refused call needs; True where all were accepted."""
        data = error.data if isinstance(error.data, dict) else {}
        wanted = data.get("elicitations")
        if error.code != URL_NEEDED or not isinstance(wanted, list) or not 0 < len(wanted) <= _MOST_URLS:
            return False
        for params in wanted:
            if not isinstance(params, dict):
                return False
            answer = await questions.answer("elicitation/create", {**params, "mode": "url"})
            if not isinstance(answer, Mapping) or answer.get("action") != "accept":
                return False
        return True

    def advised(self, error: CallRefused, *, is_modern: bool) -> CallRefused:
        """The refusal, with the setting that may help a tool which was written for the other era.

        Who speaks both may have tools that ask in the way of one, and cannot be called in the other.
        """
        hint = None
        if is_modern and error.code == INVALID_REQUEST and "back-channel" in error.words.lower():
            hint = "this tool asks in the older way: set its server's protocol to legacy"
        elif not is_modern and error.code == INTERNAL_ERROR and self._options.protocol == "legacy":
            hint = "if this tool asks for something in the newer way, set its server's protocol to auto"
        if hint is None:
            return error
        return CallRefused("tools/call", error.code, error.words, error.data, hint=hint)

    def checked(self, name: str, result: CallResult) -> CallResult:
        """The result, and in which way its structured value does not fit the schema of its tool."""
        tool = self._tools.get(name)
        if tool is None or tool.output_schema is None or result.is_error:
            return result
        if not result.has_structured:
            words: str | None = "the tool promises structured values, and answered without one"
        else:
            from caliban_mcp_client.schemas import mismatch

            words = mismatch(result.structured, tool.output_schema)
        return result if words is None else replace(result, problems=(*result.problems, words))
