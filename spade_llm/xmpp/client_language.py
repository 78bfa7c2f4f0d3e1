"""In which of our two languages somebody's client speaks, where it has said no word. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def client_language(stanza: Element) -> str:
    """`en` or `es`, by its `xml:lang`."""
    return "es" if stanza.get(_LANG, "").lower().startswith("es") else "en"
