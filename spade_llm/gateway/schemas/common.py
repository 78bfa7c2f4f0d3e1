"""Shared schema types: base class, session ids, timestamps, bounds, error detail."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal, Protocol, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
)

MAX_TEXT_CHARS = 100_000
"""Maximum length of a question in characters. A question that does not fit one message (128 KB of
JSON) is refused with 400."""
MAX_NAMES = 100
"""Maximum length of a list of names (namespaces, tools) in a request."""

# An XMPP <thread/> and a path segment: no code point that XML forbids.
_SESSION_ID = (
    r"^[^\s\x00-\x20\x7f-\xa0/?#%\\.\ufffe\uffff][^\s\x00-\x20\x7f-\xa0/?#%\\\ufffe\uffff]*$"
)
_VISIBLE = r"\S"
PATTERN_RULES = {
    _SESSION_ID: "Use no spaces, no control characters and none of / ? # % \\, and no dot first",
    _VISIBLE: "Write at least one visible character",
}
"""Patterns in words, for errors."""

SessionId = Annotated[
    str,
    Field(
        pattern=_SESSION_ID,
        min_length=1,
        max_length=128,
        description="Conversation of the caller; ids of different principals do not collide.",
        examples=["mi-sesion-123"],
    ),
]

Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS, pattern=_VISIBLE)]

Namespace = Annotated[
    str,
    Field(
        pattern=r"^\.*[\w-][\w.-]*$",
        min_length=1,
        max_length=64,
        description="Namespace of documents, `default` unless another is given.",
        examples=["docs"],
    ),
]

ToolName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$", examples=["calculator"])]
MemoryTypeName = Literal["semantic", "episodic", "profile", "procedural"]
ContextPriority = Literal["memory", "rag", "balanced"]
ContextLanguage = Annotated[
    Literal["en", "es"] | None,
    Field(description="Language of the headings in `context_text`; null: the gateway's."),
]


MAX_MESSAGES = 1000


class _ChatMessage(Protocol):
    @property
    def role(self) -> str: ...


M = TypeVar("M", bound=_ChatMessage)


def _check_question(messages: list[M]) -> list[M]:
    if not any(one.role == "user" for one in messages):
        raise ValueError("no message has role 'user'; the last such message is the question")
    return messages


Messages = Annotated[
    list[M],
    Field(
        min_length=1,
        max_length=MAX_MESSAGES,
        json_schema_extra={
            "contains": {"properties": {"role": {"const": "user"}}, "required": ["role"]}
        },
    ),
    AfterValidator(_check_question),
]


class HttpBody(BaseModel):
    """Body of a request or response. Unknown fields are ignored, because old clients send some.

    Strict: no conversion between strings, numbers and booleans, as in JSON Schema.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, allow_inf_nan=False)


class HttpAnswer(HttpBody):
    """Body of a response that `of` reads from an object: each field from the attribute of its name,
    or of its `validation_alias`."""

    model_config = ConfigDict(strict=False, from_attributes=True, validate_by_name=True)

    @classmethod
    def of(cls, source: object) -> Self:
        return cls.model_validate(source)


def format_timestamp(at: datetime) -> str:
    """UTC without an offset, always with microseconds, as the Agent Lab API writes it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")


Timestamp = Annotated[
    datetime,
    PlainSerializer(format_timestamp, return_type=str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}$",
            "description": "UTC",
            "examples": ["2025-12-21T10:30:00.000000"],
        }
    ),
]


class ErrorDetail(HttpBody):
    """Body of all errors except 422."""

    detail: str = Field(description="What is wrong, and what to do about it.")


WHOLE_NUMBER = BeforeValidator(
    lambda value: int(value) if isinstance(value, float) and value.is_integer() else value
)
"""Validator that accepts `5.0` as an integer, as JSON Schema does; write it after the bounds."""
TopK = Annotated[int, Field(ge=1, le=20), WHOLE_NUMBER]
ContextTokens = Annotated[int, Field(ge=100, le=8000), WHOLE_NUMBER]
