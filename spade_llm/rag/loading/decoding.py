"""From bytes to characters: UTF-8, or what a byte order mark says. Guesses nothing."""

from __future__ import annotations

import codecs

from spade_llm.errors import InvalidArguments

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before UTF-16, whose mark it begins with.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decoded(raw: bytes, encoding: str = "utf-8") -> str:
    """`encoding`: what it is in if no mark says otherwise.

    Raises:
        InvalidArguments: it is something else; the sentence goes on from the file's name.
    """
    encoding, skip = _marked(raw) or (encoding, 0)
    try:
        text = raw[skip:].decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidArguments(
            f"is not {encoding.upper()}: byte {error.start + skip} is wrong; save it as UTF-8"
        ) from error
    if "\0" in text:
        raise InvalidArguments("is not text: it holds NUL characters, as programs and pictures do")
    return text


def _marked(raw: bytes) -> tuple[str, int] | None:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return encoding, len(mark)
    return None
