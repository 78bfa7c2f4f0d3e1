"""Data forms (XEP-0004): fields, validation of what was filled in, and typed forms (XEP-0068)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from xml.etree import ElementTree as ET

from spade_llm.core.errors import MalformedContent
from spade_llm.xmpp.stanzas.message_codec import xml_safe_text
from spade_llm.xmpp.stanzas.namespaces import DATA_FORM

MAX_FIELDS = 64
"""Maximum number of submitted fields, and of values per field; more is an error."""
_YES = frozenset({"1", "true"})
_NO = frozenset({"0", "false", ""})

FormValues = Mapping[str, tuple[str, ...]]
"""Submitted values by field name, validated against the form that was shown."""


class FormFieldKind(StrEnum):
    TEXT = "text-single"
    LINES = "text-multi"
    ONE = "list-single"
    """Choice of a single option."""
    SEVERAL = "list-multi"
    YES_NO = "boolean"


MAX_CHARS = {FormFieldKind.TEXT: 1000, FormFieldKind.LINES: 32_768}
"""Maximum number of characters of a submitted value, by kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormOption:
    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    name: str
    label: str
    kind: FormFieldKind = FormFieldKind.TEXT
    options: tuple[FormOption, ...] = ()
    value: str = ""
    """Default value."""
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DataForm:
    title: str
    instructions: tuple[str, ...] = ()
    fields: tuple[FormField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """A command is over, with what is to be said of it."""

    text: str
    is_failure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandForm:
    """A command goes on once this is filled in."""

    form: DataForm
    then: Callable[[FormValues], Awaitable[CommandStep]]


CommandStep = CommandResult | CommandForm


@dataclass(frozen=True, slots=True, kw_only=True)
class AdHocRequest:
    """Request of a menu's user: JID and language."""

    jid: str
    """Full, as the server stamps it."""
    language: str = "en"
    """`en` or `es`, as their client says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuCommand:
    """Command in a menu."""

    node: str
    labels: Mapping[str, str]
    """Labels by language."""
    begin: Callable[[AdHocRequest], Awaitable[CommandStep]]
    """Raises RequestError, ServiceError: it cannot be done now."""


def form_xml(form: DataForm) -> ET.Element:
    x = _x("form", form.title)
    for line in form.instructions:
        _add_text_element(x, "instructions", line)
    for field in form.fields:
        _add_form_field(x, field)
    return x


def result_xml(title: str, lines: Sequence[str]) -> ET.Element:
    """Text of several lines, which a note would run together."""
    x = _x("result", title)
    # Without a label profanity 0.13 shows `(null)`.
    about = {"var": "text", "type": FormFieldKind.LINES, "label": ""}
    field = ET.SubElement(x, _tag("field"), about)
    for line in lines:
        _add_text_element(field, "value", line)
    return x


def read_filled(x: ET.Element | None, form: DataForm) -> FormValues:
    """Return the submitted values of this form's fields; other fields are ignored.

    Raises:
        MalformedContent: names the field, and what is wrong with it.
    """
    given = _submitted_values(x)
    values = {}
    for field in form.fields:
        values[field.name] = _value_of_kind(field, given.get(field.name, ()))
        if field.is_required and not any(values[field.name]):
            raise MalformedContent(f"{field.label!r} is missing")
    return values


def _submitted_values(x: ET.Element | None) -> dict[str, tuple[str, ...]]:
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
    is_lines = field.get("type") == FormFieldKind.LINES
    return values if is_lines else values[: MAX_FIELDS + 1]


def _value_of_kind(field: FormField, values: tuple[str, ...]) -> tuple[str, ...]:
    match field.kind:
        case FormFieldKind.ONE | FormFieldKind.SEVERAL:
            return _chosen_options(field, values)
        case FormFieldKind.YES_NO:
            said = values[0].strip().lower() if values else ""
            if said not in _YES | _NO:
                raise MalformedContent(f"{field.label!r}: yes or no")
            return ("1",) if said in _YES else ()
        case _:
            return _text(field, values)


def _chosen_options(field: FormField, values: tuple[str, ...]) -> tuple[str, ...]:
    given = tuple(dict.fromkeys(value for value in values if value))
    if field.kind is FormFieldKind.ONE and len(given) > 1:
        raise MalformedContent(f"{field.label!r}: choose one")
    if set(given) - {option.value for option in field.options}:
        raise MalformedContent(f"{field.label!r}: that is not one of the choices")
    return given


def _text(field: FormField, values: tuple[str, ...]) -> tuple[str, ...]:
    text = "\n".join(values).strip()
    if len(text) > MAX_CHARS[field.kind]:
        raise MalformedContent(f"{field.label!r}: {MAX_CHARS[field.kind]} characters at most")
    return (text,) if text else ()


def _x(kind: str, title: str) -> ET.Element:
    x = ET.Element(_tag("x"), {"type": kind})
    _add_text_element(x, "title", title)
    return x


def _add_form_field(x: ET.Element, field: FormField) -> None:
    attributes = {"var": field.name, "type": field.kind, "label": xml_safe_text(field.label)}
    xml = ET.SubElement(x, _tag("field"), attributes)
    if field.is_required:
        ET.SubElement(xml, _tag("required"))
    for line in field.value.split("\n") if field.value else ():
        _add_text_element(xml, "value", line)
    for option in field.options:
        choice = ET.SubElement(xml, _tag("option"), {"label": xml_safe_text(option.label)})
        _add_text_element(choice, "value", option.value)


def _add_text_element(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, _tag(name)).text = xml_safe_text(text)


def _tag(name: str) -> str:
    return f"{{{DATA_FORM}}}{name}"


def typed_form(kind: str, form_type: str, facts: Mapping[str, str]) -> ET.Element:
    """`kind`: `submit` or `result`."""
    form = ET.Element(f"{{{DATA_FORM}}}x", {"type": kind})
    _add_fact(form, "FORM_TYPE", form_type, {"type": "hidden"})
    for name, value in facts.items():
        _add_fact(form, name, value, {})
    return form


def _add_fact(form: ET.Element, name: str, value: str, attributes: dict[str, str]) -> None:
    field = ET.SubElement(form, f"{{{DATA_FORM}}}field", {"var": name, **attributes})
    ET.SubElement(field, f"{{{DATA_FORM}}}value").text = value
