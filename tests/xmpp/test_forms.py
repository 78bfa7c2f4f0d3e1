"""Forms that people fill in: what is not what was asked is an error that names the field."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spade_llm.core.errors import MalformedContent
from spade_llm.xmpp.stanzas.forms import (
    DataForm,
    FormField,
    FormFieldKind,
    FormOption,
    form_xml,
    read_filled,
)

OPTIONS = (FormOption(value="a", label="Ay"), FormOption(value="b", label="Bee"))
FORM = DataForm(
    title="A form",
    instructions=("Fill it in.",),
    fields=(
        FormField(name="one", label="One of them", kind=FormFieldKind.ONE, options=OPTIONS),
        FormField(name="some", label="Some", kind=FormFieldKind.SEVERAL, options=OPTIONS),
        FormField(name="sure", label="Sure", kind=FormFieldKind.YES_NO),
        FormField(name="text", label="Text", value="before"),
        FormField(name="lines", label="Lines", kind=FormFieldKind.LINES),
    ),
)


def submitted(*fields: tuple[str, str, list[str]], kind: str = "submit") -> ET.Element:
    x = ET.Element("{jabber:x:data}x", {"type": kind})
    for name, of_kind, values in fields:
        field = ET.SubElement(x, "{jabber:x:data}field", {"var": name, "type": of_kind})
        for value in values:
            ET.SubElement(field, "{jabber:x:data}value").text = value
    return x


def test_submissions_are_read_by_the_form_that_was_shown() -> None:
    filled = read_filled(
        submitted(
            ("one", "list-single", ["b"]),
            ("some", "list-multi", ["a", "b", "a"]),
            ("sure", "boolean", ["true"]),
            ("lines", "text-multi", ["first", "second"]),
            ("unknown", "hidden", ["x"]),
        ),
        FORM,
    )

    assert filled == {
        "one": ("b",),
        "some": ("a", "b"),
        "sure": ("1",),
        "text": (),
        "lines": ("first\nsecond",),
    }


@pytest.mark.parametrize(
    ("field", "names"),
    [
        (("one", "list-single", ["c"]), "One of them"),
        (("one", "list-single", ["a", "b"]), "One of them"),
        (("some", "list-multi", ["a", "c"]), "Some"),
        (("sure", "boolean", ["perhaps"]), "Sure"),
        (("text", "text-single", ["x" * 1001]), "Text"),
        (("lines", "text-multi", ["x" * 17_000] * 2), "Lines"),
    ],
)
def test_invalid_choices_and_long_values_are_named(
    field: tuple[str, str, list[str]], names: str
) -> None:
    with pytest.raises(MalformedContent, match=names):
        read_filled(submitted(field), FORM)


def test_required_fields_must_be_present_in_a_submitted_form() -> None:
    needed = DataForm(title="", fields=(FormField(name="text", label="Needed", is_required=True),))

    with pytest.raises(MalformedContent, match="Needed"):
        read_filled(submitted(("text", "text-single", [" "])), needed)
    with pytest.raises(MalformedContent, match="Needed"):
        read_filled(None, needed)
    with pytest.raises(MalformedContent, match="submit"):
        read_filled(submitted(kind="form"), FORM)
    with pytest.raises(MalformedContent, match="fields"):
        read_filled(submitted(*[("x", "hidden", ["1"])] * 100), FORM)


names = st.sampled_from(["one", "some", "sure", "text", "lines", "other", ""])
kinds = st.sampled_from(["list-single", "boolean", "text-multi", "nonsense", ""])
values = st.lists(
    st.one_of(st.sampled_from(["a", "b", "1", "0", "true"]), st.text(max_size=10)), max_size=4
)


@given(st.lists(st.tuples(names, kinds, values), max_size=6))
def test_any_submission_is_read_or_refused(
    fields: list[tuple[str, str, list[str]]],
) -> None:
    try:
        filled = read_filled(submitted(*fields), FORM)
    except MalformedContent:
        return

    assert set(filled) == {field.name for field in FORM.fields}
    assert set(filled["some"]) <= {"a", "b"}


@given(st.text(), st.text(), st.text())
def test_a_form_can_always_be_written(title: str, label: str, value: str) -> None:
    form = DataForm(title=title, fields=(FormField(name="f", label=label, value=value),))

    ET.fromstring(ET.tostring(form_xml(form), encoding="utf-8"))
