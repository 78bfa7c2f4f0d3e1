"""Structured model answer: one required tool call, validated, with one repair."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from spade_llm.core.errors import InvalidModelOutput, ModelUnavailable
from spade_llm.core.text import validation_problems

if TYPE_CHECKING:
    from spade_llm.providers.model import ChatModel, Completion, ContextMessage, Sampling, ToolSpec

F = TypeVar("F", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredAnswer(Generic[F]):
    """Object that a model is asked for, with one more attempt if it is invalid."""

    tool: ToolSpec
    fields: type[F]
    retry_prompt: str
    """Prompt after an invalid answer; `{problems}` lists the errors."""
    subject_name: str
    """Name of the requested data, for the log."""
    sampling: Sampling | None = None

    async def request(
        self, model: ChatModel, messages: Sequence[ContextMessage], *, deadline_s: float
    ) -> F:
        """Both calls within the deadline.

        Raises ModelError; InvalidModelOutput when the second answer is no better than the first.
        """
        try:
            async with asyncio.timeout(deadline_s):
                answer = await self._complete(model, messages)
                try:
                    return self.fields.model_validate_json(answer)
                except ValidationError as error:
                    again = [*messages, *self._retry_messages(answer, error)]
                    return self.fields.model_validate_json(await self._complete(model, again))
        except TimeoutError:
            raise ModelUnavailable(f"{model.name} did not answer in time.") from None
        except ValidationError as error:
            problems = validation_problems(error, whole="arguments")
            raise InvalidModelOutput(
                f"{model.name} gave no {self.subject_name} that fit the schema: {problems}."
            ) from None

    async def _complete(self, model: ChatModel, messages: Sequence[ContextMessage]) -> str:
        name = self.tool.name
        completion = await model.complete(
            messages, [self.tool], tool_choice=name, sampling=self.sampling
        )
        return _answer_json(completion, name)

    def _retry_messages(self, answer: str, error: ValidationError) -> list[ContextMessage]:
        problems = validation_problems(error, whole="arguments")
        return [
            {"role": "assistant", "content": answer or "(nothing)"},
            {"role": "user", "content": self.retry_prompt.format(problems=problems)},
        ]


def _answer_json(completion: Completion, tool: str) -> str:
    """The arguments of the tool; else the text, without the fence that models like to draw."""
    for call in completion.tool_calls:
        if call.name == tool:
            return call.arguments
    begin, end = completion.text.find("{"), completion.text.rfind("}")
    return completion.text[begin : end + 1] if 0 <= begin < end else completion.text
