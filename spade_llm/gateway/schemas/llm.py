"""Schemas of /llm: generate and chat."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, ConfigDict, Field

from spade_llm.assistant.turn.turn_options import AUTO, MAX_TOOL_ROUNDS
from spade_llm.gateway.schemas import common

if TYPE_CHECKING:
    from spade_llm.assistant.chat.messages import AnswerSource, ToolCallReport, ToolRoundReport

MAX_TOKENS = 1_000_000
Temperature = Annotated[float, Field(ge=0.0, le=1.0)]
MaxTokens = Annotated[int, Field(ge=1, le=MAX_TOKENS), common.WHOLE_NUMBER]


class HttpGenerateRequest(common.HttpBody):
    prompt: common.Text
    temperature: Temperature | None = 0.7
    max_tokens: MaxTokens | None = 1000


class GenerateResponse(common.HttpBody):
    text: str
    prompt: str


class ChatUserMessage(common.HttpBody):
    role: Literal["user"]
    content: common.Text


class ChatHistoryMessage(common.HttpBody):
    """History message that the client sends: accepted, but neither stored nor trusted."""

    role: Literal["assistant", "system", "developer", "tool"]
    content: str = Field(max_length=1_000_000)


class HttpChatRequest(common.HttpBody):
    """Chat request. Precedence of settings: the request's fields, the session's configuration, the
    global one, the defaults. null counts as not given."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "messages": [
                        {"role": "user", "content": "¿Cuáles son las ventajas de FastAPI?"}
                    ],
                    "session_id": "mi-sesion-123",
                    "use_memory": True,
                    "use_rag": False,
                }
            ]
        }
    )

    messages: common.Messages[ChatUserMessage | ChatHistoryMessage] = Field(
        description="The last message with role `user` is the question. Earlier messages are"
        " ignored: the session keeps the conversation."
    )
    session_id: common.SessionId | None = Field(default=None, description="null: a new session.")
    temperature: Temperature | None = 0.7
    max_tokens: MaxTokens | None = Field(default=500, description="Maximum length of the answer.")

    use_memory: bool | None = Field(
        default=True,
        validation_alias=AliasChoices("use_memory", "enable_memory"),
        description="Whether conversation history and memories are read. The messages are stored in"
        " the session in either case.",
    )
    use_rag: bool | None = Field(
        default=False, validation_alias=AliasChoices("use_rag", "enable_rag")
    )
    memory_types: list[common.MemoryTypeName] | None = Field(default=None, max_length=4)
    rag_namespaces: list[common.Namespace] | None = Field(default=None, max_length=common.MAX_NAMES)
    rag_top_k: common.TopK | None = 5
    max_context_tokens: common.ContextTokens | None = 4000
    context_priority: common.ContextPriority | None = "balanced"
    language: common.ContextLanguage = None

    use_tools: bool | None = Field(
        default=False, validation_alias=AliasChoices("use_tools", "enable_tools")
    )
    tool_choice: common.ToolName | None = Field(
        default=AUTO, description="`auto`, `none`, `required`, or the name of a tool."
    )
    available_tools: list[common.ToolName] | None = Field(
        default=None,
        max_length=common.MAX_NAMES,
        description="Names of the allowed tools; null: all.",
    )
    max_tool_iterations: (
        Annotated[int, Field(ge=1, le=MAX_TOOL_ROUNDS), common.WHOLE_NUMBER] | None
    ) = 5

    @property
    def question(self) -> str:
        return next(
            one.content for one in reversed(self.messages) if isinstance(one, ChatUserMessage)
        )


class SourceMetadata(common.HttpAnswer):
    source: str
    namespace: str
    chunk_index: int = Field(validation_alias=AliasChoices("chunk_index", "index"))
    page: int | None = None
    heading: str = ""


class RagSource(common.HttpBody):
    """Passage that was used for an answer."""

    content: str
    metadata: SourceMetadata
    score: float = Field(description="0…1")
    chunk_index: int

    @classmethod
    def of(cls, source: AnswerSource) -> RagSource:
        metadata = SourceMetadata.of(source)
        index = source.chunk_index
        return cls(content=source.content, metadata=metadata, score=source.score, chunk_index=index)


def _arguments(text: str) -> dict[str, object] | str:
    try:
        arguments = json.loads(text)
    except ValueError:
        return text
    return arguments if isinstance(arguments, dict) else text


Arguments = Annotated[dict[str, object] | str, BeforeValidator(_arguments)]


class ToolCallMade(common.HttpAnswer):
    id: str
    name: str
    arguments: Arguments = Field(
        description="Arguments object; the model's text if it is not a JSON object."
    )
    round: int = Field(description="Round, from 1; calls of one round run concurrently.")
    args: Arguments = Field(validation_alias="arguments", description="As `arguments`.")


class ToolCallOutput(common.HttpBody):
    id: str
    name: str
    arguments: Arguments
    success: bool
    result: str | None = Field(description="Result of a successful call.")
    error: str | None = Field(description="Error of a failed call.")
    round: int
    seconds: float
    tool_call_id: str = Field(description="As `id`.")
    tool_name: str = Field(description="As `name`.")
    output: str | None = Field(description="As `result`.")

    @classmethod
    def of(cls, use: ToolCallReport) -> ToolCallOutput:
        result = use.result if use.success else None
        return cls(
            id=use.id,
            name=use.name,
            arguments=use.arguments,
            success=use.success,
            result=result,
            error=None if use.success else use.error,
            round=use.round,
            seconds=use.seconds,
            tool_call_id=use.id,
            tool_name=use.name,
            output=result,
        )


class AgentStep(common.HttpBody):
    """Round of a turn: the model's text, and the tools it called."""

    round: int
    text: str = Field(description="Text of the model beside its calls.")
    tools: list[str] = Field(description="Names of the called tools.")
    step_number: int = Field(description="As `round`.")
    action: Literal["tool_call", "final_answer"]
    tool_call: ToolCallMade | None = Field(description="First call of the round.")
    tool_result: ToolCallOutput | None = Field(description="Result of that call.")
    reasoning: str = Field(description="As `text`.")

    @classmethod
    def of(cls, step: ToolRoundReport, uses: Sequence[ToolCallReport]) -> AgentStep:
        """`uses`: tool calls of the whole turn."""
        first = next((use for use in uses if use.round == step.round), None)
        return cls(
            round=step.round,
            text=step.text,
            tools=list(step.tools),
            step_number=step.round,
            action="tool_call" if step.tools else "final_answer",
            tool_call=ToolCallMade.of(first) if first else None,
            tool_result=ToolCallOutput.of(first) if first else None,
            reasoning=step.text,
        )


class ChatResponse(common.HttpBody):
    response: str
    session_id: str
    context_text: str = Field(description="Context that the model received beside the question.")
    context_tokens: int
    rag_sources: list[RagSource] = Field(description="Passages of the context, best first.")
    tools_used: bool
    tool_calls: list[ToolCallMade] | None = Field(description="null without `use_tools`.")
    tool_results: list[ToolCallOutput] | None
    agent_steps: list[AgentStep] | None
    degraded: list[str] = Field(
        default=[], description="Unavailable services: `memory`, `documents`, `tools`."
    )
    request_id: str = Field(default="", description="As the X-Request-ID header.")
