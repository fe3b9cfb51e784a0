"""The settings of one provider."""

from __future__ import annotations

from typing import Final

from caliban_settings.key import DESCRIBED, NAME, PERSON, SECONDS, TABLE, TEXT, TEXTS, VALUE, Key

PROVIDER_KEYS: Final[tuple[Key, ...]] = (
    Key(path="provider.*.kind", form=NAME, scopes=PERSON, restart=True, doc="Which adapter speaks to it."),
    Key(path="provider.*.base_url", form=NAME, scopes=PERSON, restart=True, doc="Where its API is."),
    Key(
        path="provider.*.api_key_env",
        form=TEXT,
        scopes=PERSON,
        restart=True,
        doc="The variable with its key.",
    ),
    Key(
        path="provider.*.first_byte_s",
        form=SECONDS,
        scopes=PERSON,
        restart=True,
        doc="Seconds until a reply has to begin.",
    ),
    Key(
        path="provider.*.idle_s",
        form=SECONDS,
        scopes=PERSON,
        restart=True,
        doc="Seconds in which a reply may say nothing.",
    ),
    Key(
        path="provider.*.total_s",
        form=SECONDS,
        scopes=PERSON,
        restart=True,
        doc="Seconds that a whole reply may take; without it there is no limit.",
    ),
    Key(
        path="provider.*.models.*",
        form=DESCRIBED,
        scopes=PERSON,
        restart=True,
        doc="What a model is that no table knows: window, max_output, vision, tools, thinking, price.",
    ),
    Key(
        path="provider.*.options.server_tools",
        form=TEXTS,
        scopes=PERSON,
        restart=True,
        doc="Tools that the vendor runs itself, such as web_search.",
    ),
    Key(
        path="provider.*.options.extra_body",
        restart=True,
        form=TABLE,
        scopes=PERSON,
        doc="Members of every body.",
    ),
    Key(
        path="provider.*.headers.*", form=TEXT, scopes=PERSON, restart=True, doc="A header of every request."
    ),
    Key(
        path="provider.*.options.*",
        form=VALUE,
        scopes=PERSON,
        restart=True,
        doc="What only this provider knows, such as a region; a name it does not know is an error.",
    ),
)
