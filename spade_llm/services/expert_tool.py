"""A tool by which a model asks one expert, a person. Knows how it is called, and no wire."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.errors import RequestError, ToolFailed
from spade_llm.providers.model import ToolSpec
from spade_llm.services.experts import ExpertQuestion
from spade_llm.tools.arguments import ArgumentCheck
from spade_llm.tools.llm_tool import check_limits, check_name
from spade_llm.tools.toolbox import current_context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spade_llm.services.experts import Experts

SECONDS = 300.0
MARGIN_S = 10.0
"""Beside the time for an answer: the expert's silence is told, not the tool's."""

_PARAMETERS = {
    "type": "object",
    "properties": {
        "question": {
            "type": "string",
            "minLength": 1,
            "description": "One whole question: the expert sees nothing of the conversation.",
        },
        "context": {"type": "string", "description": "What the expert must know to answer it."},
    },
    "required": ["question"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expert:
    """A person whom a model may ask."""

    name: str
    """The tool is `ask_NAME`."""
    jid: str
    knows: str = ""
    """What to ask them about, for the model."""
    seconds: float = SECONDS
    """For so long their answer is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertTool:
    """Satisfies Tool."""

    expert: Expert
    experts: Experts = field(repr=False)

    def __post_init__(self) -> None:
        check_name(self.spec.name)
        check_limits(self.spec.name, self)

    @property
    def spec(self) -> ToolSpec:
        about = f" about {self.expert.knows}" if self.expert.knows else ""
        return ToolSpec(
            name=f"ask_{self.expert.name}",
            description=f"Ask {self.expert.name}, a person,{about}. They are asked by chat and may"
            f" take up to {self.expert.seconds:g} seconds: ask what you cannot find out otherwise.",
            parameters=_PARAMETERS,
            asks_others=True,
        )

    @property
    def is_async(self) -> bool:
        return True

    @property
    def timeout_s(self) -> float | None:
        return self.expert.seconds + MARGIN_S

    @property
    def max_concurrent(self) -> int | None:
        return None

    @property
    def max_result_chars(self) -> int | None:
        return None

    def bind(self, arguments: Mapping[str, object]) -> Callable[[], object]:
        _CHECK.check(arguments)
        question = ExpertQuestion(
            expert=self.expert.jid,
            text=str(arguments["question"]),
            background=str(arguments.get("context", "")),
            seconds=self.expert.seconds,
        )
        return partial(self._ask, question)

    async def _ask(self, question: ExpertQuestion) -> str:
        try:
            return await self.experts.ask(question, context=current_context.get())
        except RequestError as error:
            raise ToolFailed(f"{self.expert.name} gave no answer: {error.detail}") from error


_CHECK = ArgumentCheck("ask_expert", _PARAMETERS)
