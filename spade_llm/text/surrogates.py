"""Halves of surrogate pairs, which some models' JSON brings and no encoding takes."""

from __future__ import annotations

import re

_LONE = re.compile("[\ud800-\udfff]")


def readable(text: str) -> str:
    return _LONE.sub("\ufffd", text)


def is_encodable(text: str) -> bool:
    return _LONE.search(text) is None
