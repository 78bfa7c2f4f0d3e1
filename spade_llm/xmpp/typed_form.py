"""Facts between programs as a form (XEP-0004) that says what it is (XEP-0068). Pure.

Forms that people see are in form_stanza.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from spade_llm.xmpp.namespaces import DATA_FORM

if TYPE_CHECKING:
    from collections.abc import Mapping


def typed_form(kind: str, form_type: str, facts: Mapping[str, str]) -> ET.Element:
    """`kind`: `submit` or `result`."""
    form = ET.Element(f"{{{DATA_FORM}}}x", {"type": kind})
    _add(form, "FORM_TYPE", form_type, {"type": "hidden"})
    for name, value in facts.items():
        _add(form, name, value, {})
    return form


def _add(form: ET.Element, name: str, value: str, attributes: dict[str, str]) -> None:
    field = ET.SubElement(form, f"{{{DATA_FORM}}}field", {"var": name, **attributes})
    ET.SubElement(field, f"{{{DATA_FORM}}}value").text = value
