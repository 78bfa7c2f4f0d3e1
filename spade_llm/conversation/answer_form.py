"""What an answer must be, where it is for a program: an object of a pydantic model or of a JSON
Schema. Checks, and says for the model what is wrong; knows no model and no wire."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ValidationError

from spade_llm.conversation.prompt_files import prompt
from spade_llm.errors import ConfigurationError, InvalidArguments
from spade_llm.text.fence import unfenced
from spade_llm.tools.arguments import ArgumentCheck

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spade_llm.providers.messages import UserMessage

FORM_NAME = "form"
"""`name` of the messages that say how to answer."""
MAX_SCHEMA_BYTES = 16 * 1024
MAX_FAULTS = 5
MAX_FAULT_CHARS = 200


class AnswerFault(ValueError):
    """The answer has another form; the text says, for the model, what is wrong where."""


class AnswerForm(Protocol):
    @property
    def schema(self) -> Mapping[str, object]:
        """JSON Schema of an object."""

    def checked(self, text: str) -> str:
        """The answer's JSON text, without a fence around it. Raises AnswerFault."""
        ...


class ModelForm:
    """An object of a pydantic model."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self.schema: Mapping[str, object] = model.model_json_schema()

    def checked(self, text: str) -> str:
        bare = unfenced(text)
        try:
            self._model.model_validate_json(bare)
        except ValidationError as error:
            raise AnswerFault(_faults(error)) from None
        return bare


class SchemaForm:
    """An object of somebody else's JSON Schema: its regular expressions are not run."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        """Raises InvalidArguments unless it is a schema of an object, and of a bounded size."""
        if len(json.dumps(schema).encode()) > MAX_SCHEMA_BYTES:
            raise InvalidArguments(f"response_schema: it has over {MAX_SCHEMA_BYTES} bytes")
        # pydantic writes a model that contains itself as a reference and no type.
        self.schema = {"type": "object", **schema} if "$ref" in schema else schema
        self._check = ArgumentCheck("answer", self.schema, is_foreign=True, of="the fields of")
        try:
            self._check.check_schema()
        except ConfigurationError as error:
            raise InvalidArguments(f"response_schema: {error}") from error

    def checked(self, text: str) -> str:
        bare = unfenced(text)
        try:
            self._check.check(_read_object(bare))
        except InvalidArguments as error:
            raise AnswerFault(str(error)) from None
        return bare


def form_message(form: AnswerForm) -> UserMessage:
    """What the model reads before the question. Of no more trust than the question: it may be the
    asker's."""
    schema = json.dumps(form.schema, ensure_ascii=False)
    return {"role": "user", "content": prompt("answer_form", schema=schema), "name": FORM_NAME}


def _read_object(text: str) -> Mapping[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AnswerFault(f"it is not valid JSON ({str(error)[:MAX_FAULT_CHARS]})") from None
    if not isinstance(value, dict):
        raise AnswerFault("it is not a JSON object")
    return value


def _faults(error: ValidationError) -> str:
    """Where and what, and never the values."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg'][:MAX_FAULT_CHARS]}"
        for one in faults[:MAX_FAULTS]
    )
