"""What OpenAI's chat and embeddings endpoints accept, as strictly as they do. Knows no HTTP."""

from __future__ import annotations

import json
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

NAME = r"^[a-zA-Z0-9_-]{1,64}$"


class BadRequest(Exception):
    """Answered with 400; the message says what is wrong."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Function(Strict):
    name: str = Field(pattern=NAME)
    arguments: str


class CallEntry(Strict):
    id: str = Field(min_length=1, max_length=64)
    type: Literal["function"]
    function: Function


class System(Strict):
    role: Literal["system", "developer"]
    content: str
    name: str | None = None


class User(Strict):
    role: Literal["user"]
    content: str
    name: str | None = Field(default=None, pattern=r"^[^\s<|\\/>]{1,64}$")


class Assistant(Strict):
    role: Literal["assistant"]
    content: str | None = None
    name: str | None = None
    tool_calls: list[CallEntry] | None = Field(default=None, min_length=1)


class ToolAnswer(Strict):
    role: Literal["tool"]
    content: str
    tool_call_id: str


F = TypeVar("F", bound=Strict)

Message = Annotated[System | User | Assistant | ToolAnswer, Field(discriminator="role")]


class FunctionSpec(Strict):
    name: str = Field(pattern=NAME)
    description: str = Field(default="", max_length=1024)
    parameters: dict[str, object] = Field(default_factory=dict)
    strict: bool | None = None


class Tool(Strict):
    type: Literal["function"]
    function: FunctionSpec


class ChosenFunction(Strict):
    name: str


class Choice(Strict):
    type: Literal["function"]
    function: ChosenFunction


class StreamOptions(Strict):
    include_usage: bool


class SchemaForm(Strict):
    name: str = Field(pattern=NAME)
    description: str | None = None
    schema_: dict[str, object] = Field(alias="schema")
    strict: bool | None = None


class ResponseFormat(Strict):
    type: Literal["json_schema"]
    json_schema: SchemaForm


class Request(Strict):
    model: str = Field(min_length=1)
    messages: list[Message] = Field(min_length=1)
    tools: list[Tool] | None = Field(default=None, min_length=1, max_length=128)
    tool_choice: Literal["auto", "none", "required"] | Choice | None = None
    response_format: ResponseFormat | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    stop: str | list[str] | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)


class EmbeddingsRequest(Strict):
    model: str = Field(min_length=1)
    input: list[Annotated[str, Field(min_length=1)]] = Field(min_length=1, max_length=2048)
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(default=None, ge=1)


def check_request(raw: bytes) -> dict[str, object]:
    """The request as it came, once every rule has been checked.

    Raises:
        BadRequest: it breaks one.
    """
    request = _parsed(Request, raw)
    _check_options(request)
    for tool in request.tools or ():
        if tool.function.strict:
            _check_strict(tool.function.parameters, tool.function.name)
    if request.response_format and request.response_format.json_schema.strict:
        _check_strict(request.response_format.json_schema.schema_, "schema")
    _check_calls(request.messages)
    body = json.loads(raw)
    assert isinstance(body, dict)
    return body


def check_embeddings_request(raw: bytes) -> EmbeddingsRequest:
    """Raises BadRequest."""
    return _parsed(EmbeddingsRequest, raw)


def _parsed(form: type[F], raw: bytes) -> F:
    try:
        return form.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadRequest(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _check_options(request: Request) -> None:
    if request.tool_choice is not None and not request.tools:
        raise BadRequest("'tool_choice' is only allowed when 'tools' are specified.")
    if request.stream_options is not None and not request.stream:
        raise BadRequest("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    names = [tool.function.name for tool in request.tools or ()]
    if isinstance(request.tool_choice, Choice) and request.tool_choice.function.name not in names:
        raise BadRequest(f"Tool choice {request.tool_choice.function.name!r} not found in 'tools'.")


def _check_strict(node: object, where: str) -> None:
    """A strict schema's objects are closed and need every field; nothing has a default."""
    if isinstance(node, list):
        for number, part in enumerate(node):
            _check_strict(part, f"{where}.{number}")
    if not isinstance(node, dict):
        return
    fields = node.get("properties", {})
    is_closed = node.get("additionalProperties") is False and node.get("required") == list(fields)
    if node.get("type") == "object" and not is_closed:
        raise BadRequest(f"Invalid strict schema: {where} is not closed.")
    if "default" in node or ("$ref" in node and len(node) > 1):
        raise BadRequest(f"Invalid strict schema: {where} has more than its form.")
    for name, part in {**fields, **node.get("$defs", {})}.items():
        _check_strict(part, f"{where}.{name}")
    for key in ("items", "anyOf"):
        _check_strict(node.get(key), f"{where}.{key}")


def _check_calls(messages: list[Message]) -> None:
    """Every tool call is answered right behind it, and nothing else is answered."""
    awaited: set[str] = set()
    for number, message in enumerate(messages):
        if isinstance(message, ToolAnswer):
            if message.tool_call_id not in awaited:
                raise BadRequest(
                    f"messages[{number}]: messages with role 'tool' must be a response to a "
                    "preceding message with 'tool_calls'."
                )
            awaited.discard(message.tool_call_id)
            continue
        _check_answered(awaited)
        if isinstance(message, Assistant):
            awaited = _ids_of(message)
    _check_answered(awaited)


def _ids_of(message: Assistant) -> set[str]:
    if message.content is None and not message.tool_calls:
        raise BadRequest("An assistant message needs 'content' or 'tool_calls'.")
    return {call.id for call in message.tool_calls or ()}


def _check_answered(awaited: set[str]) -> None:
    if awaited:
        raise BadRequest(
            "An assistant message with 'tool_calls' must be followed by tool messages "
            f"responding to each 'tool_call_id'. Missing: {sorted(awaited)}"
        )
