"""Images and PDFs by every entrance, through the real command, as the bodies of requests show them."""

from __future__ import annotations

import base64
import json
from io import BytesIO

import media_kit
import pytest
from PIL import Image
from pypdf import PdfReader

from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.testing import wire
from caliban_provider_openai.testing import chat, responses

OK = wire.exchange(wire.text("seen"))
SMALL = media_kit.plain(40, 20)
PROXIED = "http://api.openai.com/v1"
"""The vendor's own address, without TLS, by way of the loopback server."""
STREAM = ("--output-format", "stream-json", "--input-format", "stream-json")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def last_blocks(cli):
    return cli.bodies()[-1]["messages"][-1]["content"]


def images_in(value) -> list[dict]:
    """The sources of Anthropic's image blocks anywhere in a body."""
    if isinstance(value, list):
        return [image for item in value for image in images_in(item)]
    if not isinstance(value, dict):
        return []
    own = [value["source"]] if value.get("type") == "image" else []
    return own + [image for item in value.values() for image in images_in(item)]


def opened(source) -> Image.Image:
    return Image.open(BytesIO(base64.b64decode(source["data"])))


def frame(*content) -> bytes:
    return json.dumps({"type": "user", "content": list(content)}).encode() + b"\n"


def image_part(data: bytes, media_type: str = "image/png") -> dict:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": encoded(data)}}


@pytest.fixture
def without_extras(tmp_path):
    """An environment in which neither Pillow nor pypdf can be imported."""
    folder = tmp_path / "blocked"
    folder.mkdir()
    for name in ("PIL", "pypdf"):
        (folder / f"{name}.py").write_text("raise ImportError('not installed')\n")
    return {"PYTHONPATH": str(folder)}


# four entrances, one road


def test_a_flag_and_a_name_in_the_prompt_send_the_bytes_that_fit_as_they_are(cli):
    (cli.work / "shown.txt").write_bytes(SMALL)  # its name does not decide
    (cli.work / "other.png").write_bytes(media_kit.plain(30, 30, "WEBP"))
    cli.script(OK)
    done = cli.run("-p", "compare @shown.txt", "--image", "other.png")
    assert done.code == 0, done.err
    assert [source["media_type"] for source in images_in(cli.bodies())] == ["image/png", "image/webp"]
    assert images_in(cli.bodies())[0]["data"] == encoded(SMALL)


@pytest.mark.parametrize(
    ("name", "words"), [("sub", "sub is a directory"), ("gone.png", "no such file or directory")]
)
def test_a_flag_that_names_no_file_is_refused_in_words_for_a_person(cli, name, words):
    (cli.work / "sub").mkdir()
    done = cli.run("-p", "look", "--image", name)
    assert (done.code, done.err) == (64, f"caliban: --image {name}: cannot read {cli.work / name}: {words}\n")


def test_a_frame_on_standard_input_brings_an_image_and_a_pdf(cli):
    cli.script(OK)
    document = media_kit.pdf("hello")
    source = {"type": "base64", "media_type": "application/pdf", "data": encoded(document)}
    asked = frame(
        {"type": "text", "text": "look"},
        image_part(SMALL, "image/jpeg"),
        {"type": "document", "source": source, "title": "x.pdf"},
    )
    done = cli.run("-p", *STREAM, "--replay-user-messages", stdin=asked)
    assert done.code == 0, done.out
    text, image, pdf = last_blocks(cli)
    assert (text["text"], image["source"]["media_type"]) == ("look", "image/png")
    assert (pdf["type"], pdf["title"], pdf["source"]["data"]) == ("document", "x.pdf", encoded(document))
    assert encoded(document)[:40] not in done.out


def test_read_shows_an_image_in_its_result(cli):
    (cli.work / "a.png").write_bytes(SMALL)
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "a.png"})), OK)
    assert cli.run("-p", "look at a.png").out == "seen\n"
    (result,) = last_blocks(cli)
    title, image = result["content"]
    assert title["text"] == f"→ Read a.png, image/png, 40×20 pixels, {len(SMALL)} bytes"
    assert image["source"]["data"] == encoded(SMALL)


def test_the_openai_wires_get_the_same_images(cli):
    (cli.work / "a.png").write_bytes(SMALL)
    url = f"data:image/png;base64,{encoded(SMALL)}"
    with LoopbackServer([chat.exchange(chat.text("seen"))]) as server:
        cli.configure(
            f'[provider.mine]\nkind = "openai"\nbase_url = "{server.url}/v1"\napi_key_env = "MY_KEY"\n'
        )
        run = ("--provider", "mine", "--model", "gpt-4o", "-p", "look @a.png")
        done = cli.run(*run, env={"MY_KEY": "k"})
        assert done.code == 0, done.err
        text, image = server.requests[0].json["messages"][-1]["content"]
    assert (text["type"], image) == ("text", {"type": "image_url", "image_url": {"url": url}})
    with LoopbackServer([responses.exchange(responses.text("seen"))]) as server:
        env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": PROXIED, "HTTP_PROXY": server.url}
        done = cli.run("--provider", "openai", "--model", "gpt-5.6", "-p", "look @a.png", env=env)
        assert done.code == 0, done.err
        assert url in json.dumps(server.requests[0].json)


# scaled, converted, refused


def test_a_large_image_is_scaled_down_and_that_is_told(cli):
    (cli.work / "large.png").write_bytes(media_kit.plain(4000, 2000))
    cli.script(OK, wire.exchange(wire.tool_use("Read", {"path": "large.png"})), OK)
    done = cli.run("-p", "@large.png")
    assert opened(images_in(cli.bodies()[-1])[0]).size == (1568, 784)
    assert "@large.png is scaled down from 4000×2000 pixels, image/png" in done.err
    cli.run("-p", "look")
    assert opened(images_in(cli.bodies()[-1])[0]).size == (1568, 784)
    assert "scaled down from 4000×2000" in json.dumps(cli.bodies()[-1], ensure_ascii=False)


def test_settings_say_how_large_an_image_may_be(cli):
    cli.configure("[images]\ndownscale_target = 100\nmax_bytes = 20000\n")
    (cli.work / "a.png").write_bytes(media_kit.picture(300, 300))
    cli.script(OK)
    assert cli.run("-p", "@a.png").code == 0
    (source,) = images_in(cli.bodies())
    assert max(opened(source).size) <= 100
    assert len(base64.b64decode(source["data"])) <= 20_000


def test_what_is_above_a_bound_and_cannot_be_scaled_is_refused_by_what_would_help(cli, without_extras):
    (cli.work / "wide.png").write_bytes(media_kit.plain(9000, 10))
    (cli.work / "fits.png").write_bytes(media_kit.plain(4000, 10))
    done = cli.run("-p", "hi", "--image", "wide.png", env=without_extras)
    assert done.code == 64
    assert "--image wide.png: the image is too large to send as it is: 9,000 × 10 pixels" in done.err
    assert "pip install 'caliban-cli[images]'" in done.err
    cli.script(OK)
    assert cli.run("-p", "hi", "--image", "fits.png", env=without_extras).code == 0
    assert opened(images_in(cli.bodies())[0]).size == (4000, 10)


def test_f129_a_bomb_is_refused_by_its_header(cli):
    (cli.work / "bomb.png").write_bytes(bomb())
    done = cli.run("-p", "hi", "--image", "bomb.png")
    assert done.code == 64
    assert "65,000 × 65,000 pixels" in done.err
    assert cli.server.requests == ()
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "bomb.png"})), OK)
    assert cli.run("-p", "look").code == 0
    assert "65,000 × 65,000 pixels" in json.dumps(last_blocks(cli), ensure_ascii=False)


def bomb() -> bytes:
    data = bytearray(SMALL)
    data[16:24] = (65_000).to_bytes(4, "big") * 2
    import zlib

    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    return bytes(data)


@pytest.mark.parametrize("cut", [20, -10])
@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_cut_off_image_ends_no_run_and_is_not_sent(cli, form, cut):
    data = media_kit.plain(64, 64, form)[:cut]
    (cli.work / "a.png").write_bytes(data)
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "a.png"})), OK)
    assert cli.run("-p", "look").out == "seen\n"
    assert images_in(cli.bodies()) == []
    done = cli.run("-p", *STREAM, stdin=frame(image_part(data)))
    (result,) = done.of("result")
    assert (done.code, result["is_error"]) == (64, True)
    assert "the image is c" in result["error"]  # corrupt, or cut off


def test_a_frame_whose_data_is_no_base64_or_no_image_is_refused(cli):
    for part, words in (
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "?"}},
            "not base64",
        ),
        (image_part(b"text"), "no PNG, JPEG, GIF or WebP"),
        ({**image_part(b"text"), "type": "document"}, "is no PDF"),
    ):
        done = cli.run("-p", *STREAM, stdin=frame(part))
        (result,) = done.of("result")
        assert (done.code, words in result["error"]) == (64, True), result
    assert cli.server.requests == ()


def test_the_same_image_is_sent_once_in_a_message(cli):
    for name in ("a.png", "b.png"):
        (cli.work / name).write_bytes(SMALL)
    cli.script(OK)
    assert cli.run("-p", "@a.png @b.png", "--image", "a.png").code == 0
    assert len(images_in(cli.bodies())) == 1
    assert [block["text"] for block in last_blocks(cli)[2:]] == ["[the same image as above]"] * 2


# what a model cannot see


@pytest.fixture
def blind(cli):
    """A server on the OpenAI wire whose model sees nothing, and how to ask it."""
    with LoopbackServer([]) as server:
        cli.configure(
            f'[provider.mine]\nkind = "openai"\nbase_url = "{server.url}/v1"\napi_key_env = "MY_KEY"\n'
        )
        cli.extra["MY_KEY"] = "k"
        yield server, ("--provider", "mine", "--model", "gpt-3.5-turbo")


def test_an_image_that_a_person_names_is_refused_where_the_model_sees_none(cli, blind):
    server, model = blind
    (cli.work / "a.png").write_bytes(SMALL)
    for words in (("look", "--image", "a.png"), ("look @a.png",)):
        done = cli.run(*model, "-p", *words, "--output-format", "json")
        assert done.code != 0
        assert "gpt-3.5-turbo cannot see images" in done.json["error"]
        assert "CALIBAN_STRICT_ROUTING=false" in done.json["error"]
    assert server.requests == ()


def test_words_take_its_place_where_that_is_asked_for(cli, blind):
    server, model = blind
    (cli.work / "a.png").write_bytes(SMALL)
    server.extend(chat.exchange(chat.text("blind")))
    run = (*model, "-p", "look", "--image", "a.png", "--output-format", "stream-json")
    done = cli.run(*run, env={"CALIBAN_STRICT_ROUTING": "false"})
    assert done.code == 0, done.out
    sent = json.dumps(server.requests[0].json)
    assert "an image of type image/png" in sent and encoded(SMALL)[:40] not in sent
    assert [warning["subtype"] for warning in done.of("warning")] == ["media_unseen"]


def test_an_image_of_a_tool_becomes_words_and_that_is_told_once(cli, blind):
    server, model = blind
    (cli.work / "a.png").write_bytes(SMALL)
    read = chat.exchange(chat.call("Read", {"path": "a.png"}))
    server.extend(read, read, chat.exchange(chat.text("blind")))
    done = cli.run(*model, "-p", "look", "--output-format", "stream-json")
    assert done.code == 0, done.out
    sent = json.dumps(server.requests[-1].json)
    assert "this model cannot see it" in sent and encoded(SMALL)[:40] not in sent
    assert [warning["subtype"] for warning in done.of("warning")] == ["media_unseen"]


# documents


def test_read_shows_a_pdf_to_a_model_that_takes_pdfs(cli):
    data = media_kit.pdf("first", "second", "third")
    (cli.work / "paper.pdf").write_bytes(data)
    whole = wire.exchange(wire.tool_use("Read", {"path": "paper.pdf"}))
    part = wire.exchange(wire.tool_use("Read", {"path": "paper.pdf", "offset": 2, "limit": 1}))
    cli.script(whole, OK, part, OK)
    assert cli.run("-p", "read").out == "seen\n"
    title, document = last_blocks(cli)[0]["content"]
    assert title["text"] == "→ Read paper.pdf, application/pdf, pages 1-3 of 3"
    assert document["source"] == {"type": "base64", "media_type": "application/pdf", "data": encoded(data)}
    assert cli.run("-p", "read").out == "seen\n"
    title, document = last_blocks(cli)[0]["content"]
    assert title["text"] == "→ Read paper.pdf, application/pdf, page 2 of 3"
    (page,) = PdfReader(BytesIO(base64.b64decode(document["source"]["data"]))).pages
    assert page.extract_text().strip() == "second"


def test_what_a_library_says_of_a_broken_pdf_does_not_stand_between_our_lines(cli):
    (cli.work / "a.pdf").write_bytes(
        b"%PDF-1.4\nxref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 /Root 1 0 R /Prev 9 >>\n"
        b"startxref\n9\n%%EOF"
    )
    cli.script(wire.exchange(wire.tool_use("Read", {"path": "a.pdf"})), OK)
    done = cli.run("-p", "go")
    speakers = [line.partition(" ")[0] for line in done.err.splitlines() if line]
    assert (done.code, speakers) == (0, ["[Read", "caliban:", "caliban:"])


def test_a_model_that_takes_no_pdf_is_given_its_text(cli, blind):
    server, model = blind
    (cli.work / "paper.pdf").write_bytes(media_kit.pdf("first words", "second"))
    read = chat.exchange(chat.call("Read", {"path": "paper.pdf", "offset": 1, "limit": 1}))
    answer = chat.exchange(chat.text("read"))
    server.extend(read, answer, answer)
    assert cli.run(*model, "-p", "read").out == "read\n"
    result = server.requests[-1].json["messages"][-1]["content"]
    assert "the text of page 1 of 2" in result and "first words" in result and "second" not in result
    assert cli.run(*model, "-p", "read @paper.pdf").out == "read\n"
    assert "second" in json.dumps(server.requests[-1].json)


def test_a_pdf_goes_by_name_and_is_refused_by_what_is_wrong_with_it(cli):
    (cli.work / "paper.pdf").write_bytes(media_kit.pdf("one"))
    (cli.work / "locked.pdf").write_bytes(media_kit.pdf("one", password="secret"))
    (cli.work / "cut.pdf").write_bytes(media_kit.pdf("one")[:-30])
    (cli.work / "long.pdf").write_bytes(media_kit.pdf(*["page"] * 601))
    cli.script(OK)
    assert cli.run("-p", "@paper.pdf").code == 0
    assert last_blocks(cli)[1]["type"] == "document"
    for name, words in (("locked", "encrypted"), ("cut", "cut off"), ("long", "at most 600 pages")):
        done = cli.run("-p", f"@{name}.pdf")
        assert (done.code, words in done.err) == (64, True), done.err
    assert len(cli.server.requests) == 1


def test_without_the_library_a_pdf_goes_as_a_whole_or_is_refused_by_name(cli, blind, without_extras):
    server, model = blind
    data = media_kit.pdf("first", "second")
    (cli.work / "paper.pdf").write_bytes(data)
    cli.script(OK)
    assert cli.run("-p", "@paper.pdf", env=without_extras).code == 0
    assert last_blocks(cli)[1]["source"]["data"] == encoded(data)
    done = cli.run(*model, "-p", "@paper.pdf", env=without_extras)
    assert done.code == 64
    assert "pip install 'caliban-cli[pdf]'" in done.err
    assert server.requests == ()


def test_the_openai_wires_get_a_pdf_that_read_shows(cli):
    data = media_kit.pdf("hello")
    (cli.work / "paper.pdf").write_bytes(data)
    url = f"data:application/pdf;base64,{encoded(data)}"
    calls = responses.call("Read", {"path": "paper.pdf"})
    with LoopbackServer([responses.exchange(calls), responses.exchange(responses.text("read"))]) as server:
        env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": PROXIED, "HTTP_PROXY": server.url}
        done = cli.run("--provider", "openai", "--model", "gpt-5.6", "-p", "read", env=env)
        assert done.out == "read\n", done.err
        output = server.requests[-1].json["input"][-1]["output"]
    assert output[-1] == {"type": "input_file", "filename": "paper.pdf", "file_data": url}


def test_pictures_are_never_loaded_where_there_are_none(cli):
    cli.script(OK)
    done = cli.run("-p", "hi", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.out == "seen\n"
    loaded = {line.rpartition("|")[2].strip() for line in done.err.splitlines()}
    assert "caliban_drive" in loaded
    assert loaded.isdisjoint({"PIL", "pypdf", "caliban_images", "zlib.decompressobj"})


# sessions


def test_a_session_keeps_an_image_once_as_a_file_and_shows_it_again(cli):
    (cli.work / "a.png").write_bytes(SMALL)
    cli.script(OK, wire.exchange(wire.tool_use("Read", {"path": "a.png"})), OK, OK)
    folder = cli.home / "kept"
    where = ("--sessions-dir", str(folder))
    assert cli.run("-p", "look @a.png", "--session", "s", *where).code == 0
    assert cli.run("-p", "once more", "-r", "s", *where).code == 0
    (blob,) = (folder / "s" / "blobs").iterdir()
    assert blob.read_bytes() == SMALL
    assert encoded(SMALL) not in (folder / "s.json").read_text()
    assert cli.run("-p", "and", "-r", "s", *where).code == 0
    assert [source["data"] for source in images_in(cli.bodies()[-1])] == [encoded(SMALL)] * 2
    blob.unlink()
    cli.script(OK)
    done = cli.run("-p", "and now", "-r", "s", *where)
    assert done.code == 0 and blob.name in done.err
    assert images_in(cli.bodies()[-1]) == []
    assert f"the image {blob.name} of this session is lost" in json.dumps(cli.bodies()[-1])


def test_an_image_of_a_resumed_session_becomes_words_for_a_model_that_sees_none(cli, blind):
    server, model = blind
    (cli.work / "a.png").write_bytes(SMALL)
    cli.script(OK)
    assert cli.run("-p", "look @a.png", "--session", "s").code == 0
    server.extend(chat.exchange(chat.text("blind")))
    done = cli.run(*model, "-p", "and now", "-r", "s")
    assert done.out == "blind\n", done.err
    assert "does not take the images" in done.err
    assert "an image of type image/png" in json.dumps(server.requests[-1].json)
