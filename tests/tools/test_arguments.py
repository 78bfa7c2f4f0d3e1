"""Arguments against schemas of any draft, ours or somebody else's."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import ConfigurationError, InvalidArguments
from spade_llm.tools.llm_tool import ArgumentValidator

if TYPE_CHECKING:
    from collections.abc import Mapping


def check(
    schema: Mapping[str, object], arguments: Mapping[str, object], *, is_foreign: bool = False
) -> None:
    one = ArgumentValidator("x", {"type": "object", **schema}, is_foreign=is_foreign)
    one.check_schema()
    one.check(arguments)


def a(schema: Mapping[str, object]) -> dict[str, object]:
    return {"properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "arguments", "fault"),
    [
        (a({"type": "integer"}), {"a": "x"}, r"\$\.a: 'x' is not of type 'integer'"),
        ({"required": ["a"]}, {}, "'a' is a required property"),
        (a({"type": "string", "format": "date"}), {"a": "soon"}, "'soon' is not a 'date'"),
        (
            {"$defs": {"p": {"type": "integer"}}, **a({"$ref": "#/$defs/p"})},
            {"a": "x"},
            "not of type 'integer'",
        ),
        (a({"$ref": "#"}), {"a": {"a": 2}}, r"\$\.a\.a: 2 is not of type 'object'"),
        (a({"$ref": "#/nowhere"}), {"a": 1}, "unresolvable reference"),
        ({"allOf": [{"$ref": "#"}]}, {"a": 1}, "recurse too deeply"),
        (a({"multipleOf": 0.01}), {"a": float("inf")}, "out of range"),
        (
            {
                "$schema": "http://json-schema.org/draft-04/schema#",
                **a({"minimum": 1, "exclusiveMinimum": True}),
            },
            {"a": 1},
            "less than or equal to the minimum",
        ),
        ({"$schema": "urn:somebody:own", **a({"type": "null"})}, {"a": 1}, "not of type 'null'"),
    ],
)
def test_what_is_wrong_is_named(
    schema: dict[str, object], arguments: dict[str, object], fault: str
) -> None:
    with pytest.raises(InvalidArguments, match=fault):
        check(schema, arguments)


def test_a_reference_elsewhere_is_never_fetched() -> None:
    schema = a({"$ref": "http://127.0.0.1:9/schema.json"})

    with pytest.raises(InvalidArguments, match="unresolvable reference"):
        check(schema, {"a": 1})


def test_an_unknown_format_is_no_fault() -> None:
    check(a({"type": "string", "format": "directory-path"}), {"a": "x"})


def test_expressions_of_others_are_not_run() -> None:
    began = time.process_time()
    schema = {
        **a({"type": "string", "pattern": "^(a+)+$"}),
        "patternProperties": {"^(b+)+$": {"type": "integer"}},
        "additionalProperties": False,
    }

    check(schema, {"a": "a" * 60 + "!", "b" * 60 + "!": 1}, is_foreign=True)

    assert time.process_time() - began < 1


def test_unknown_arguments_are_refused_of_others_schemas_too() -> None:
    with pytest.raises(InvalidArguments, match="'b' was unexpected"):
        check({**a({}), "additionalProperties": False}, {"b": 1}, is_foreign=True)


@pytest.mark.parametrize(
    "schema", [{"type": "array"}, {"required": 1}, a({"pattern": "("}), a({"minimum": "1"})]
)
def test_a_schema_that_is_not_of_an_object_is_a_configuration_error(
    schema: dict[str, object],
) -> None:
    with pytest.raises(ConfigurationError, match="'x'"):
        check(schema, {})
