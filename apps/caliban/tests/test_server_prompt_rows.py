"""Prompts of servers as commands: what is said to one, and what it gives."""

from __future__ import annotations

import pytest

from caliban.compose.servers.prompts import ServerPrompt, ServerPromptArgument
from caliban.slash.serverprompts import prompt_arguments, prompt_rows
from caliban_commands.answer import SubmitPrompt
from caliban_commands.errors import BadArguments, CommandError
from caliban_common.message import Base64Source, ImageBlock, Message, assistant, user

PROMPT = ServerPrompt(
    server="notes",
    name="find",
    command="notes:find",
    full_name="mcp__notes__find",
    arguments=(ServerPromptArgument(name="what", required=True), ServerPromptArgument(name="where")),
)


@pytest.mark.parametrize(
    ("said", "given"),
    [
        ("", {}),
        ("a", {"what": "a"}),
        ("a b c", {"what": "a", "where": "b c"}),
        ("'a b' c", {"what": "a b", "where": "c"}),
        ("where=here a", {"what": "a", "where": "here"}),
        ("what=a what=b", {"what": "a", "where": "what=b"}),
        ("x=1", {"what": "x=1"}),
        ("it's here", {"what": "it's", "where": "here"}),
    ],
)
def test_words_are_arguments_in_order_or_by_name(said, given):
    assert prompt_arguments(PROMPT, said) == given


@pytest.mark.parametrize("said", ["what=a where=b c", "x" * 20_001])
def test_too_much_is_refused(said):
    with pytest.raises(BadArguments, match="/notes:find takes"):
        prompt_arguments(PROMPT, said)


class Context:
    def __init__(self):
        self.told = []
        self.report = self.told.append


async def called(*messages):
    async def fetch(prompt, arguments):
        return messages

    (row,) = prompt_rows([PROMPT], fetch)
    context = Context()
    answer = await row.handler()(context, "a")
    return row, answer, context.told


@pytest.mark.anyio
async def test_its_messages_become_one_prompt_and_what_is_no_text_is_told():
    image = ImageBlock(source=Base64Source(media_type="image/png", data=b"x"))
    row, answer, notices = await called(
        user("look"), assistant("earlier"), Message(role="user", content=(image,))
    )
    assert (row.name, row.aliases, row.submits) == ("mcp__notes__find", ("notes:find",), True)
    assert isinstance(answer.effect, SubmitPrompt)
    assert answer.effect.text == "look\n\n[the server notes gives this as an earlier answer]\nearlier"
    assert answer.effect.references == "" and answer.effect.shown == "/mcp__notes__find a"
    assert "1 piece of notes:find" in notices[0].message


@pytest.mark.anyio
async def test_a_server_that_says_nothing_is_told():
    with pytest.raises(CommandError, match="the server notes says nothing"):
        await called(user(""))
