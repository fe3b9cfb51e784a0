"""What the members of a closed union have in common: JSON tells them apart by `type`."""

from __future__ import annotations

from msgspec import Struct


class Tagged(Struct, frozen=True, kw_only=True, tag_field="type"):
    """A member of a union; each names itself by `tag=`, which stands under `type` in JSON."""

    @property
    def type(self) -> str:
        """The name of this kind of value within its union."""
        return str(self.__struct_config__.tag)
