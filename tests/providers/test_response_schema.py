"""Answers of a given form: what is asked of a server, and what of one that does not know it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import pytest
from pydantic import BaseModel, Field

from spade_llm.providers import OfflineProvider, ScriptedProvider
from spade_llm.providers.openai.request_body import response_format
from tests.openai_rules import check_request
from tests.openai_server import Status
from tests.providers.model_calls import HELLO

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.providers import LLMProvider
    from tests.openai_server import OpenAIServer


class Part(BaseModel):
    name: str
    amount: float = 1.0


class Order(BaseModel):
    """What somebody wants."""

    kind: Literal["new", "change"] = "new"
    parts: list[Part]
    main: Part | None = Field(default=None, description="The most important one.")
    default: str = "no keyword, but a name"


class Tagged(BaseModel):
    tags: dict[str, str]


async def test_a_schema_is_asked_for_in_the_strict_form_of_the_protocol(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    await provider.complete(HELLO, response_schema=Order.model_json_schema())

    form = server.requests[-1]["response_format"]
    assert isinstance(form, dict)
    assert form["json_schema"]["name"] == "Order"
    assert form["json_schema"]["strict"] is True
    assert form["json_schema"]["schema"]["required"] == ["kind", "parts", "main", "default"]


def test_fields_of_any_name_are_asked_for_without_strictness() -> None:
    schema = Tagged.model_json_schema()

    form = response_format(schema)["json_schema"]

    assert form == {"name": "Tagged", "schema": schema, "strict": False}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array", "items": {"type": "string"}},
        {"title": "ñ!", "type": "object", "properties": {}},
        {"title": "x" * 99, "type": "object", "properties": {"a": {"enum": [None, 1]}}},
        Order.model_json_schema(),
    ],
    ids=str,
)
def test_requests_always_have_the_form_of_the_protocol(
    schema: Mapping[str, object],
) -> None:
    body = {"model": "m", "messages": HELLO, "response_format": response_format(schema)}

    check_request(json.dumps(body).encode())


async def test_a_server_that_refuses_a_schema_is_asked_without_and_it_is_noted(
    provider: LLMProvider, server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.refused_fields = {"response_format"}

    first = await provider.complete(HELLO, response_schema=Order.model_json_schema())
    second = await provider.complete(HELLO, response_schema=Order.model_json_schema())

    assert first == second
    assert ["response_format" in request for request in server.requests] == [True, False, False]
    assert caplog.text.count("does not support response_format") == 1


async def test_one_refused_schema_leaves_the_others(
    provider: LLMProvider, server: OpenAIServer
) -> None:
    server.enqueue(Status(status=400, body='{"error": {"message": "Invalid json_schema: tags"}}'))

    await provider.complete(HELLO, response_schema=Tagged.model_json_schema())
    await provider.complete(HELLO, response_schema=Order.model_json_schema())

    assert ["response_format" in request for request in server.requests] == [True, False, True]


async def test_models_without_a_server_take_the_wish() -> None:
    schema = Order.model_json_schema()
    scripted = ScriptedProvider(["{}"])

    await OfflineProvider().complete(HELLO, response_schema=schema)
    await scripted.complete(HELLO, response_schema=schema)

    assert scripted.requests[-1].response_schema == schema
