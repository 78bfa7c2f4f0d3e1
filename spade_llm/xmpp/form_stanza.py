"""Forms (XEP-0004) as XML: written for people; what they filled in is read with suspicion. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from spade_llm.errors import MalformedContent
from spade_llm.xmpp.menu import FieldKind
from spade_llm.xmpp.namespaces import DATA_FORM
from spade_llm.xmpp.stanza import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.xmpp.menu import Field, Filled, Form

MAX_FIELDS = 64
"""Of what is filled in; and values of one field. More is an error."""
MAX_CHARS = {FieldKind.TEXT: 1000, FieldKind.LINES: 32_768}
_YES = frozenset({"1", "true"})
_NO = frozenset({"0", "false", ""})


def form_xml(form: Form) -> ET.Element:
    x = _x("form", form.title)
    for line in form.instructions:
        _add(x, "instructions", line)
    for field in form.fields:
        _add_field(x, field)
    return x


def result_xml(title: str, lines: Sequence[str]) -> ET.Element:
    """Text of several lines, which a note would run together."""
    x = _x("result", title)
    # Without a label profanity 0.13 shows `(null)`.
    about = {"var": "text", "type": FieldKind.LINES, "label": ""}
    field = ET.SubElement(x, _tag("field"), about)
    for line in lines:
        _add(field, "value", line)
    return x


def read_filled(x: ET.Element | None, form: Form) -> Filled:
    """What of this form was filled in; other fields do not count.

    Raises:
        MalformedContent: names the field, and what is wrong with it.
    """
    given = _given(x)
    return {field.name: _checked(field, given.get(field.name, ())) for field in form.fields}


def _given(x: ET.Element | None) -> dict[str, tuple[str, ...]]:
    if x is None:
        return {}
    if x.get("type") != "submit":
        raise MalformedContent("the form is not one that was filled in: its type must be submit")
    fields = x.findall(_tag("field"))
    if len(fields) > MAX_FIELDS:
        raise MalformedContent(f"the form has over {MAX_FIELDS} fields")
    return {one.get("var", ""): _values(one) for one in fields}


def _values(field: ET.Element) -> tuple[str, ...]:
    values = tuple(one.text or "" for one in field.findall(_tag("value")))
    is_lines = field.get("type") == FieldKind.LINES
    return values if is_lines else values[: MAX_FIELDS + 1]


def _checked(field: Field, values: tuple[str, ...]) -> tuple[str, ...]:
    given = _of_kind(field, values)
    if field.is_required and not any(given):
        raise MalformedContent(f"{field.label!r} is missing")
    return given


def _of_kind(field: Field, values: tuple[str, ...]) -> tuple[str, ...]:
    match field.kind:
        case FieldKind.ONE | FieldKind.SEVERAL:
            return _chosen(field, values)
        case FieldKind.YES_NO:
            return _yes_or_no(field, values)
        case _:
            return _text(field, values)


def _chosen(field: Field, values: tuple[str, ...]) -> tuple[str, ...]:
    given = tuple(dict.fromkeys(value for value in values if value))
    if field.kind is FieldKind.ONE and len(given) > 1:
        raise MalformedContent(f"{field.label!r}: choose one")
    if set(given) - {option.value for option in field.options}:
        raise MalformedContent(f"{field.label!r}: that is not one of the choices")
    return given


def _yes_or_no(field: Field, values: tuple[str, ...]) -> tuple[str, ...]:
    said = values[0].strip().lower() if values else ""
    if said not in _YES | _NO:
        raise MalformedContent(f"{field.label!r}: yes or no")
    return ("1",) if said in _YES else ()


def _text(field: Field, values: tuple[str, ...]) -> tuple[str, ...]:
    text = "\n".join(values).strip()
    if len(text) > MAX_CHARS[field.kind]:
        raise MalformedContent(f"{field.label!r}: {MAX_CHARS[field.kind]} characters at most")
    return (text,) if text else ()


def _x(kind: str, title: str) -> ET.Element:
    x = ET.Element(_tag("x"), {"type": kind})
    _add(x, "title", title)
    return x


def _add_field(x: ET.Element, field: Field) -> None:
    attributes = {"var": field.name, "type": field.kind, "label": readable(field.label)}
    xml = ET.SubElement(x, _tag("field"), attributes)
    if field.is_required:
        ET.SubElement(xml, _tag("required"))
    for line in field.value.split("\n") if field.value else ():
        _add(xml, "value", line)
    for option in field.options:
        choice = ET.SubElement(xml, _tag("option"), {"label": readable(option.label)})
        _add(choice, "value", option.value)


def _add(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, _tag(name)).text = readable(text)


def _tag(name: str) -> str:
    return f"{{{DATA_FORM}}}{name}"
