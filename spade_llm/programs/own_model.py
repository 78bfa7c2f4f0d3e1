"""Somebody's own `get_llm_response` as our ChatModel. Knows no vendor and no agent."""

from __future__ import annotations

import json
import logging
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spade_llm.errors import InvalidModelOutput, ModelError, ModelUnavailable
from spade_llm.providers.call_ids import fitting_id
from spade_llm.providers.model import Completion, ToolCall
from spade_llm.tools.llm_tool import LLMTool
from spade_llm.tools.masking import masked_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from spade_llm.programs.llm_response import LLMResponse, PromptSource, RequestedCall
    from spade_llm.providers.messages import ContextMessage
    from spade_llm.providers.model import ToolSpec

logger = logging.getLogger(__name__)

MAX_LOGGED_CHARS = 10_000


class Answering(Protocol):
    @property
    def name(self) -> str: ...

    async def get_llm_response(
        self,
        context: PromptSource,
        tools: list[LLMTool] | None = None,
        conversation_id: str | None = None,
        output_schema: type[BaseModel] | None = None,
    ) -> LLMResponse: ...


@dataclass(frozen=True, slots=True)
class OneCall:
    """The part of a ContextManager that a provider reads, for one call."""

    messages: tuple[ContextMessage, ...]

    def get_prompt(self, conversation_id: str | None = None) -> list[ContextMessage]:
        return list(self.messages)

    def get_conversation_history(self, conversation_id: str | None = None) -> list[ContextMessage]:
        return [message for message in self.messages if message["role"] != "system"]

    def get_tracing_metadata(self, conversation_id: str | None = None) -> dict[str, str]:
        return {}


async def completion_by(
    provider: Answering,
    messages: Sequence[ContextMessage],
    tools: Sequence[ToolSpec],
    *,
    tool_choice: str,
) -> Completion:
    """The tools are shown, not run: whoever asked runs them.

    Raises ModelError: also for whatever the provider raises itself.
    """
    shown = [_shown(spec) for spec in tools if tool_choice in {"auto", "required", spec.name}]
    try:
        answer = await provider.get_llm_response(OneCall(tuple(messages)), shown or None)
        return _completion(answer)
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - somebody's own provider failed
        where = masked_text(traceback.format_exc(), max_chars=MAX_LOGGED_CHARS)
        logger.error("the provider %s failed\n%s", provider.name, where)
        raise ModelUnavailable(f"{provider.name} failed ({type(error).__name__}).") from None


def _shown(spec: ToolSpec) -> LLMTool:
    return LLMTool(spec.name, spec.description, spec.parameters, _run_by_the_agent, spec.is_strict)


def _run_by_the_agent(**_: object) -> str:
    raise NotImplementedError("A provider asks for calls; the agent runs the tools.")


def _completion(answer: LLMResponse) -> Completion:
    found = answer.get("structured")
    text = found.model_dump_json() if found is not None else answer.get("text") or ""
    taken: set[str] = set()
    calls = tuple(_call(call, taken) for call in answer.get("tool_calls") or ())
    if not text and not calls:
        raise InvalidModelOutput("The provider gave neither text nor tool calls.")
    return Completion(text=text, tool_calls=calls)


def _call(call: RequestedCall, taken: set[str]) -> ToolCall:
    """Arguments may come as JSON text, too."""
    given: object = call.get("arguments") or {}
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
    call_id = fitting_id(str(call.get("id") or ""), taken)
    return ToolCall(id=call_id, name=call["name"], arguments=text)
