"""Text cut into sentences, of any language. Pure; knows no memory.

Ends are . ! ? … ; those of Chinese, Japanese, Arabic, Hindi and others; and a new line.
"""

from __future__ import annotations

import re

_END = re.compile(
    r"[.!?…؟۔।॥։።]+[\"'”’»)\]]*(?=\s|$)"  # followed by a space: not in 3.14 or example.org
    r"|[。！？｡．]+[」』”’）)\]]*"  # written without spaces
    r"|\n+"
)
_LAST_WORD = re.compile(r"(\w+)\.$")

ABBREVIATIONS = """
abb abs approx aprox av bd bzw ca cf corp dept dr dra eds eg esp etc fig geb ggf gov hr hrsg inc jan
feb apr jun jul aug sept oct okt nov dec dez jr lic lt ltd mio mr mrs mt nr num pag ph pp prof ref
sgt sr sra srta st str tel ud uds univ usw vgl vol vs
"""
"""Those that are no words beside; a full stop after them ends nothing."""

_SHORTENED = frozenset(ABBREVIATIONS.split())


def sentences(text: str) -> list[str]:
    """Its sentences in order, without the space around them; none if it is blank."""
    found, start = [], 0
    for match in _END.finditer(text):
        if _is_end(text, match):
            found.append(text[start : match.end()].strip())
            start = match.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]


def _is_end(text: str, match: re.Match[str]) -> bool:
    if match.group() != ".":
        return True
    word = _LAST_WORD.search(text, max(0, match.start() - 16), match.end())
    return word is None or not _is_shortened(word.group(1))


def _is_shortened(word: str) -> bool:
    """An abbreviation, an initial, or a small ordinal number (German: the 3. of May)."""
    if word.isdecimal():
        return len(word) <= 2
    return (len(word) == 1 and word.isalpha()) or word.lower() in _SHORTENED
