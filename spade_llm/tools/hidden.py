"""Which characters nobody sees, or turn the direction of writing. Pure; knows no text's origin."""

from __future__ import annotations

import re
import unicodedata

_CATEGORIES = {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"}
"""Controls, formats (bidirectional, zero-width, tags), private, surrogates, unassigned, line ends.
"""
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Marks and letters without a shape: joiners, fillers, variation selectors. A whole text can be
spelt in them, which a model reads and a person does not see."""


def is_hidden(char: str) -> bool:
    """Line ends, tabs and the joiner of emoji too: whoever wants those keeps them."""
    return unicodedata.category(char) in _CATEGORIES or _INVISIBLE.match(char) is not None
