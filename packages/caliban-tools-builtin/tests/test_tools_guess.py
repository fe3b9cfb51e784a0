"""Files in encodings that can only be guessed: they are shown and kept, and never mixed with another."""

from __future__ import annotations

import anyio
import pytest

from caliban_common.tool import ToolContext
from caliban_tools_builtin import ToolOptions, builtin_tools

CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="t")
EAST = {
    "shift_jis": "[設定]\n名前 = テスト\n値 = 1\n",
    "euc_jp": "[設定]\n名前 = テスト\n値 = 1\n",
    "gbk": "[设置]\n名称 = 测试\n值 = 1\n",
    "euc_kr": "[설정]\n이름 = 시험\n값 = 1\n",
    "big5": "[設定]\n名稱 = 測試\n值 = 1\n",
    "cp1251": "[настройка]\nимя = проба\nчисло = 1\n",
    "koi8-r": "[настройка]\nимя = проба\nчисло = 1\n",
    "iso8859-7": "[ρύθμιση]\nόνομα = δοκιμή\nτιμή = 1\n",
}
WEST = [
    "café\n",
    "crème brûlée\n",
    "it’s fine\n",
    "a – b\n",
    "größer\n",
    "“quoted”\n",
    "il va à Paris\n",
    "l’été\n",
]


@pytest.fixture
def call(ws):
    tools = {tool.spec.name: tool for tool in builtin_tools(ToolOptions(workspace=ws))}
    return lambda name, **args: anyio.run(tools[name].invoke, args, CONTEXT)


@pytest.mark.parametrize("added", ["追加", "é", "’", "—", "“x”", "±"])
@pytest.mark.parametrize("encoding", EAST)
def test_a_character_of_another_encoding_is_never_written(call, ws, encoding, added):
    data = EAST[encoding].encode(encoding)
    (ws / "f.ini").write_bytes(data)
    output = call("Edit", path="f.ini", old_string="= 1", new_string=f"= 1 ; {added}")
    assert output.is_error, output.text
    assert "UTF-8" in output.text
    assert (ws / "f.ini").read_bytes() == data
    assert call("Write", path="f.ini", content=f"x = {added}\n").is_error


@pytest.mark.parametrize("encoding", EAST)
def test_plain_changes_keep_every_other_byte(call, ws, encoding):
    (ws / "f.ini").write_bytes(EAST[encoding].encode(encoding))
    assert not call("Edit", path="f.ini", old_string="= 1", new_string="= 22 ; more").is_error
    assert (ws / "f.ini").read_bytes().decode(encoding) == EAST[encoding].replace("= 1", "= 22 ; more")


@pytest.mark.parametrize("text", WEST)
def test_western_text_gets_western_characters(call, ws, text):
    (ws / "a.txt").write_bytes((text + "end\n").encode("cp1252"))
    assert not call("Edit", path="a.txt", old_string="end", new_string="Ende ’ — “é” ü").is_error
    assert (ws / "a.txt").read_bytes().decode("cp1252") == text + "Ende ’ — “é” ü\n"
    assert call("Edit", path="a.txt", old_string="Ende", new_string="追加").is_error


def test_half_a_character_is_not_cut_away(call, ws):
    data = "名前 = テスト\n".encode("shift_jis")
    (ws / "f.ini").write_bytes(data)
    shown = data.decode("cp1252", "replace")
    assert call("Edit", path="f.ini", old_string=shown[7:8] + shown[8:9], new_string="").is_error or (
        (ws / "f.ini").read_bytes().decode("shift_jis")
    )


def test_a_file_that_is_replaced_is_told_of(call, ws):
    (ws / ".env").write_text("SECRET=1\n")
    assert (
        call("Write", path=".env", content="X=1").text
        == "→ Wrote .env (3 bytes), replacing 9 bytes that were there"
    )
    assert call("Write", path="new", content="X=1").text == "→ Wrote new (3 bytes)"


@pytest.mark.parametrize(
    ("data", "old"),
    [
        (b"retry = 1\r\nretry = 1\r\nretry = 1\r\n", "retry = 1\nretry = 1\n"),
        (b"retry = 1\nretry = 1\nretry = 1\n", "retry = 1\nretry = 1\n"),
        (b"retry = 1\r\nretry = 1\r\nretry = 1", "retry = 1\nretry = 1"),
        (b"retry = 1  \nretry = 1\t\nretry = 1 \n", "retry = 1\nretry = 1\n"),
        (b"  retry = 1\n  retry = 1\n  retry = 1\n", "retry = 1 \nretry = 1\n"),
        (b"\tretry = 1\r\n\tretry = 1\r\n\tretry = 1", "retry = 1\nretry = 1"),
    ],
)
def test_what_fits_twice_with_an_overlap_is_ambiguous(call, ws, data, old):
    (ws / "app.ini").write_bytes(data)
    output = call("Edit", path="app.ini", old_string=old, new_string=old.replace("1", "2"))
    assert "ambiguous" in output.text
    assert (ws / "app.ini").read_bytes() == data
