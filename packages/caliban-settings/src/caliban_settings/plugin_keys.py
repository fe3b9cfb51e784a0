"""The settings about plugins."""

from __future__ import annotations

from typing import Final

from caliban_settings.key import FLAG, PERSON, TEXT, TEXTS, Key

PLUGIN_KEYS: Final[tuple[Key, ...]] = (
    Key(
        path="enabled_plugins.*",
        form=FLAG,
        guard="trust",
        aliases=("enabledPlugins",),
        restart=True,
        doc="Whether a plugin counts, by its name or NAME@MARKETPLACE.",
    ),
    Key(
        path="plugins.enabled",
        form=TEXTS,
        guard="trust",
        restart=True,
        doc="The only plugins that count, where the table enabled_plugins does not name them.",
    ),
    Key(
        path="plugins.trust_message",
        form=TEXT,
        scopes=PERSON,
        doc="Words that stand before the question whether a plugin may be installed.",
    ),
    Key(
        path="plugins.marketplaces.strict_known",
        form=TEXTS,
        scopes=PERSON,
        restart=True,
        doc="The only places that plugins may come from, as they are written to the command.",
    ),
    Key(
        path="plugins.marketplaces.blocked",
        form=TEXTS,
        merge="join",
        scopes=PERSON,
        restart=True,
        doc="Marketplaces, by name or place, that nothing may come from.",
    ),
    Key(
        path="plugins.marketplaces.keys.*",
        form=TEXTS,
        scopes=PERSON,
        restart=True,
        doc="Public keys of minisign, by one of which what a marketplace of that name offers must be signed.",
    ),
    Key(
        path="strict_plugin_only_customization",
        form=FLAG,
        merge="strictest",
        doc="Leave what is customised to plugins alone.",
        later="leaving customisation to plugins alone is",
        safeguard=True,
    ),
)
