"""Schemas of /v1: the supported part of the OpenAI chat API; the rest is ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from spade_llm.gateway.schemas.common import WHOLE_NUMBER, HttpBody, Messages, SessionId, Text
from spade_llm.gateway.schemas.llm import MAX_TOKENS

if TYPE_CHECKING:
    from spade_llm.gateway.session_store import ConversationLine

MAX_PARTS = 100
USER_ROLE = "user"


class TextPart(HttpBody):
    type: Literal["text"]
    text: Text


def _check_parts(content: object) -> object:
    for part in content if isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in (None, "text"):
            raise ValueError(f"parts of type {str(kind)[:40]!r} are not supported; send text parts")
    return content


class UserInput(HttpBody):
    role: Literal["user"]
    content: Annotated[
        Text | Annotated[list[TextPart], Field(min_length=1, max_length=MAX_PARTS)],
        BeforeValidator(_check_parts),
    ]

    @property
    def line(self) -> ConversationLine:
        return self.role, _text(self.content)


class HistoryTextPart(HttpBody):
    type: str
    text: str = ""


class HistoryInput(HttpBody):
    """History message, used to find the conversation; it is neither stored nor trusted."""

    role: Literal["system", "developer", "assistant", "tool", "function"]
    content: str | list[HistoryTextPart] | None = None

    @property
    def line(self) -> ConversationLine:
        return self.role, _text(self.content)


class StreamOptions(HttpBody):
    include_usage: bool | None = False


class ChatCompletionRequest(HttpBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"model": "assistant", "messages": [{"role": "user", "content": "Hello"}]}]
        }
    )

    model: str = Field(
        min_length=1, max_length=1000, description="Name of an assistant, as in /v1/models."
    )
    messages: Messages[UserInput | HistoryInput] = Field(
        description="The last message with role `user` is the question."
    )
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS), WHOLE_NUMBER] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS), WHOLE_NUMBER] | None = None
    n: Annotated[int, Field(ge=1, le=1), WHOLE_NUMBER] | None = 1
    session_id: SessionId | None = Field(
        default=None,
        description="Extension: the session, also as the header X-Session-ID. Without it, the"
        " session is found by the messages before the question.",
    )

    @property
    def lines(self) -> list[ConversationLine]:
        """Messages up to the question, which is the last one."""
        lines = [one.line for one in self.messages]
        while lines[-1][0] != USER_ROLE:
            lines.pop()
        return lines


class AnswerMessage(HttpBody):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: str | None = None


class Choice(HttpBody):
    index: int = 0
    message: AnswerMessage
    logprobs: None = None
    finish_reason: Literal["stop", "length", "content_filter"] = "stop"


class TokenUsage(HttpBody):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatCompletion(HttpBody):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int = Field(description="Unix time.")
    model: str
    choices: list[Choice]
    usage: TokenUsage


class ModelLine(HttpBody):
    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "spade-llm"


class ModelList(HttpBody):
    object: Literal["list"] = "list"
    data: list[ModelLine]


class OpenAIErrorDetail(HttpBody):
    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorEnvelope(HttpBody):
    error: OpenAIErrorDetail


def _text(content: str | list[TextPart] | list[HistoryTextPart] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.text for part in content)
