"""What was said before a summary took its place: it is found again, or the session says that it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from caliban_common.message import Message, assistant, system, user
from caliban_sessions import SessionStore

LEAD = system("Be brief.", id="lead")
SAID = tuple((user if n % 2 == 0 else assistant)(f"message {n}", id=f"m{n}") for n in range(6))
SUMMARY = system("Summary of earlier conversation:\nmuch", id="sum")


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


def opened(store: SessionStore, name: str = "s"):
    return store.open(name, provider="p", model="m")


def texts(messages: tuple[Message, ...] | None) -> list[str] | None:
    return None if messages is None else [message.text for message in messages]


WHOLE = [message.text for message in SAID]


def test_a_session_that_lost_nothing_is_its_own_transcript(store):
    with opened(store) as session:
        assert session.transcript() == ()
        for message in (LEAD, *SAID):
            session.append(message)
        assert texts(session.transcript()) == WHOLE


@pytest.mark.parametrize("kept", [0, 2, 5])
def test_what_was_summarised_is_there_again_also_after_a_restart(store, kept):
    with opened(store) as session:
        for message in (LEAD, *SAID):
            session.append(message)
        session.replace((LEAD, SUMMARY, *SAID[len(SAID) - kept :]))
        session.append(user("and on", id="x"))
        assert texts(session.transcript()) == [*WHOLE, "and on"]
    with opened(store) as session:
        assert texts(session.transcript()) == [*WHOLE, "and on"]


def test_two_summaries_and_an_edit_in_place_lead_back_to_the_first_words(store):
    edited = (SAID[0], user("short", id="m2"), SAID[1], user("short too", id="m4"), SAID[5])
    with opened(store) as session:
        for message in (LEAD, *SAID):
            session.append(message)
        session.replace((LEAD, SAID[0], SAID[1], edited[1], SAID[3], edited[3], SAID[5]))
        session.replace((LEAD, SUMMARY, edited[3], SAID[5]))
        session.append(user("and on", id="x"))
        session.replace(
            (LEAD, system("Summary of earlier conversation:\nall", id="sum2"), user("and on", id="x"))
        )
        assert texts(session.transcript()) == [*WHOLE, "and on"]


def test_what_is_lost_is_no_transcript(store):
    with opened(store) as session:
        for message in (LEAD, *SAID):
            session.append(message)
        session.replace((LEAD, SUMMARY, *SAID[4:]))
        archive = session.path.with_suffix(".archive")
    damaged = archive.read_bytes().splitlines(keepends=True)
    archive.write_bytes(b"".join([damaged[0], b"no JSON\n", b"5\n", *damaged[2:]]))
    with opened(store) as session:
        assert session.transcript() is None


def test_a_fork_of_what_was_summarised_does_not_know_it(store):
    with opened(store) as session:
        for message in (LEAD, *SAID):
            session.append(message)
        session.replace((LEAD, SUMMARY, *SAID[4:]))
    with store.fork("s", "other") as fork:
        assert fork.transcript() is None
