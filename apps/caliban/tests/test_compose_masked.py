"""Secrets in the words of errors: those of causes and of groups too."""

from __future__ import annotations

from caliban.compose.masked import mask_error
from caliban_common.errors import CalibanError
from caliban_common.mask import Masker

KEY = "sk-ant-CANARY0123456789"


def masker() -> Masker:
    made = Masker()
    made.add(KEY)
    return made


def test_a_group_is_masked_through_and_through() -> None:
    inner = CalibanError(f"refused {KEY}", hint=f"not {KEY}")
    inner.__cause__ = ValueError(f"key {KEY}")
    group = ExceptionGroup("several", [inner, ExceptionGroup("more", [OSError(5, f"at {KEY}")])])
    outer = RuntimeError("outer")
    outer.__context__ = group
    mask_error(outer, masker())
    words = (str(inner), str(inner.__cause__), str(group.exceptions[1].exceptions[0].args), inner.hint)
    assert all(KEY not in str(text) for text in words)
    assert group.message == "several"


def test_errors_that_come_from_each_other_end() -> None:
    one, two = ValueError(KEY), ValueError(KEY)
    one.__context__, two.__context__ = two, one
    mask_error(one, masker())
    assert KEY not in f"{one} {two}"
