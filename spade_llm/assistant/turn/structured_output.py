"""Structured output: validates an answer against a JSON Schema or a pydantic model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ValidationError

from spade_llm.assistant.turn.prompt import render_prompt
from spade_llm.core.errors import ConfigurationError, InvalidArguments
from spade_llm.core.text import strip_code_fence, validation_problems
from spade_llm.tools.llm_tool import ArgumentValidator

if TYPE_CHECKING:
    from spade_llm.providers.model import UserMessage

SCHEMA_MESSAGE_NAME = "form"
"""`name` of the messages that say how to answer."""
MAX_SCHEMA_BYTES = 16 * 1024
MAX_SCHEMA_ERROR_CHARS = 200


class AnswerSchemaError(ValueError):
    """The answer has another form; the text says, for the model, what is wrong where."""


class AnswerSchema(Protocol):
    """Schema of a structured answer."""

    @property
    def schema(self) -> Mapping[str, object]:
        """JSON Schema of an object."""

    def checked(self, text: str) -> str:
        """The answer's JSON text, without a fence around it. Raises AnswerSchemaError."""


class PydanticAnswerSchema:
    """An object of a pydantic model."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self.schema: Mapping[str, object] = model.model_json_schema()

    def checked(self, text: str) -> str:
        bare = strip_code_fence(text)
        try:
            self._model.model_validate_json(bare)
        except ValidationError as error:
            raise AnswerSchemaError(validation_problems(error, whole="it")) from None
        return bare


class JsonAnswerSchema:
    """JSON Schema from another party for an object: its regular expressions are not executed."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        """Raises InvalidArguments unless it is a schema of an object, and of a bounded size."""
        if len(json.dumps(schema).encode()) > MAX_SCHEMA_BYTES:
            raise InvalidArguments(
                f"response_schema: larger than the limit ({MAX_SCHEMA_BYTES} bytes)"
            )
        # pydantic writes a model that contains itself as a reference and no type.
        self.schema = {"type": "object", **schema} if "$ref" in schema else schema
        self._check = ArgumentValidator("answer", self.schema, is_foreign=True, of="the fields of")
        try:
            self._check.check_schema()
        except ConfigurationError as error:
            raise InvalidArguments(f"response_schema: {error}") from error

    def checked(self, text: str) -> str:
        bare = strip_code_fence(text)
        try:
            self._check.check(_read_object(bare))
        except InvalidArguments as error:
            raise AnswerSchemaError(str(error)) from None
        return bare


def schema_message(answer_schema: AnswerSchema) -> UserMessage:
    """Message before the question that tells the model the schema. It is a user message, trusted no
    more than the question, since the schema may come from the caller."""
    schema = json.dumps(answer_schema.schema, ensure_ascii=False)
    return {
        "role": "user",
        "content": render_prompt("answer_form", schema=schema),
        "name": SCHEMA_MESSAGE_NAME,
    }


def _read_object(text: str) -> Mapping[str, object]:
    try:
        value = json.loads(text)
    # Deeply nested JSON raises RecursionError.
    except (ValueError, RecursionError) as error:
        raise AnswerSchemaError(
            f"it is not valid JSON ({str(error)[:MAX_SCHEMA_ERROR_CHARS]})"
        ) from None
    if not isinstance(value, dict):
        raise AnswerSchemaError("it is not a JSON object")
    return value
