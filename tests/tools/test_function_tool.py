"""A tool made from a function's signature and docstring."""

from __future__ import annotations

from typing import Literal

import pytest

from spade_llm.core.errors import ConfigurationError, InvalidArguments
from spade_llm.tools import tool


@tool
def book(
    city: str, nights: int = 1, room: Literal["single", "double"] = "single", *, quiet: bool = False
) -> str:
    """Book a room.

    Only in summer.

    Args:
        city: Where to stay,
            in English.
        nights (int): How long.

    Returns:
        A number.
    """
    return f"{city} {nights} {room} {quiet}"


def test_the_schema_comes_from_signature_and_docstring() -> None:
    assert book.spec.name == "book"
    assert book.spec.description == "Book a room.\n\nOnly in summer."
    assert book.spec.parameters == {
        "type": "object",
        "properties": {
            "city": {
                "type": "string",
                "description": "Where to stay, in English.",
            },
            "nights": {
                "type": "integer",
                "default": 1,
                "description": "How long.",
            },
            "room": {
                "type": "string",
                "default": "single",
                "enum": ["single", "double"],
            },
            "quiet": {"type": "boolean", "default": False},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_a_parameter_may_be_called_title() -> None:
    @tool
    def add_book(title: str = "title") -> str:
        """Add a book."""
        return title

    assert add_book.spec.parameters["properties"] == {
        "title": {"type": "string", "default": "title"}
    }


def test_it_is_still_the_function() -> None:
    assert book("Soria", quiet=True) == "Soria 1 single True"


def test_arguments_arrive_with_their_types() -> None:
    assert book.bind({"city": "Soria", "nights": "3"})() == "Soria 3 single False"


def test_wrong_arguments_are_all_named() -> None:
    with pytest.raises(InvalidArguments) as caught:
        book.bind({"nights": "many", "room": "triple"})

    assert {"city", "nights", "room"} <= {word.rstrip(":") for word in str(caught.value).split()}


def test_a_parameter_without_a_type_is_a_configuration_error() -> None:
    def untyped(x) -> str:  # type: ignore[no-untyped-def]
        return str(x)

    with pytest.raises(ConfigurationError, match="needs a type"):
        tool(untyped)


def test_a_parameter_that_has_no_name_is_a_configuration_error() -> None:
    def many(*values: int) -> int:
        return sum(values)

    with pytest.raises(ConfigurationError, match="given by name"):
        tool(many)


def test_a_name_and_description_can_be_given() -> None:
    @tool(name="shout", description="Say it loud.")
    def f(text: str) -> str:
        return text.upper()

    assert (f.spec.name, f.spec.description) == ("shout", "Say it loud.")


def test_a_parameter_may_be_called_like_a_method_of_the_model() -> None:
    @tool
    def find(schema: str, model_name: str, copy: int = 1) -> str:
        """Find it."""
        return f"{schema} {model_name} {copy}"

    assert find.bind({"schema": "a", "model_name": "b"})() == "a b 1"
