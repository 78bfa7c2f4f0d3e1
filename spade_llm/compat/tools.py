"""Tools: human in the loop, LangChain adapter, ready for structured output.

The question carries what programs for experts know it by: `type=human_query`, `query_id`, and a
thread that is the query's id. Any chat client can answer it, too.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from spade_llm.assistant.delegation.expert_questions import (
    EXPERT_MARGIN_S,
    PARAMETERS,
    ExpertQuestion,
)
from spade_llm.core.errors import ConfigurationError, RequestError, RequestTimeout, ToolFailed
from spade_llm.providers.model import safe_name
from spade_llm.tools.llm_tool import LLMTool
from spade_llm.tools.toolbox import current_context

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from spade_llm.agents.bound_tools import MessagingAgent

DESCRIPTION = (
    "Ask a human expert by chat and wait for the answer: for what needs a person's judgement or"
    " knowledge, or what is not clear. One whole question at a time."
)

_SINGLE: Mapping[str, object] = {
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}


def query_metadata(id: str) -> dict[str, str]:
    return {"type": "human_query", "query_id": id}


class HumanInTheLoopTool(LLMTool):
    """An agent that takes it as one of its tools says `set_agent` itself."""

    def __init__(
        self,
        human_expert_jid: str,
        timeout: float = 300.0,
        name: str = "ask_human_expert",
        description: str | None = None,
    ) -> None:
        if not timeout > 0:
            raise ValueError(f"timeout is {timeout}: give seconds above 0")
        super().__init__(
            name,
            description or DESCRIPTION,
            PARAMETERS,
            self._ask_expert,
            timeout_s=timeout + EXPERT_MARGIN_S,
            asks_others=True,
        )
        self.human_expert_jid = human_expert_jid
        self.timeout = timeout
        self._agent: MessagingAgent | None = None

    def set_agent(self, agent_instance: MessagingAgent, /) -> None:
        self._agent = agent_instance

    async def _ask_expert(self, question: str, context: str | None = None) -> str:
        if self._agent is None:
            raise ToolFailed("Error: no agent uses this tool yet: it cannot ask anybody")
        asked = ExpertQuestion(
            expert=self.human_expert_jid,
            text=question,
            background=context or "",
            seconds=self.timeout,
            metadata_of=query_metadata,
        )
        try:
            return await self._agent.experts.ask(asked, context=current_context.get())
        except RequestTimeout as error:
            raise ToolFailed(f"Timeout: no answer within {self.timeout:g} s") from error
        except RequestError as error:
            raise ToolFailed(f"Error: the expert could not be asked: {error.detail}") from error


class LangChainTool(Protocol):
    name: str
    description: str


class LangChainToolAdapter(LLMTool):
    """Adapter for LangChain tools with any number of arguments; synchronous tools run in a
    thread."""

    def __init__(self, langchain_tool: LangChainTool) -> None:
        if not isinstance(langchain_tool, _AsyncLangChainTool | _SyncLangChainTool):
            raise ConfigurationError(
                f"LangChainToolAdapter: {langchain_tool!r} is no LangChain tool: it has no ainvoke"
            )
        self.lc_tool = langchain_tool
        self._parameters_of_tool = _parameters(langchain_tool)
        super().__init__(
            name=safe_name(langchain_tool.name),
            description=langchain_tool.description,
            parameters=self._parameters_of_tool,
            func=self._invoke,
        )

    async def _invoke(self, **arguments: object) -> object:
        tool = self.lc_tool
        try:
            if isinstance(tool, _AsyncLangChainTool):
                return await tool.ainvoke(arguments)
            return await asyncio.to_thread(tool.run, self._single(arguments))
        except Exception as error:
            if _is_for_the_model(error):
                raise ToolFailed(str(error)) from error
            raise

    def _single(self, arguments: Mapping[str, object]) -> object:
        """Tools of old took one text."""
        return next(iter(arguments.values())) if len(arguments) == 1 else arguments


class ReadyForStructuredOutputTool(LLMTool):
    TOOL_NAME = "ready_for_structured_output"

    def __init__(self, output_schema: type[BaseModel]) -> None:
        self.output_schema = output_schema
        super().__init__(
            name=self.TOOL_NAME,
            description=(
                "Call this once you know everything that the final object needs; put nothing of"
                " the object into the call."
            ),
            parameters={"properties": {}},
            func=self._say_ready,
        )

    async def _say_ready(self) -> dict[str, str]:
        name = self.output_schema.__name__
        return {"status": "ready", "message": f"Now answer with the {name} object."}


@runtime_checkable
class _AsyncLangChainTool(Protocol):
    async def ainvoke(self, input: object) -> object: ...


@runtime_checkable
class _SyncLangChainTool(Protocol):
    def run(self, tool_input: object) -> object: ...


def _parameters(tool: LangChainTool) -> Mapping[str, object]:
    """Return the parameters for the model, without arguments that the program injects."""
    if getattr(tool, "args_schema", None) is None:
        return _single_argument_schema(getattr(tool, "args", None))
    return _schema(getattr(tool, "tool_call_schema", None) or getattr(tool, "args_schema", None))


def _single_argument_schema(args: object) -> Mapping[str, object]:
    if not isinstance(args, dict) or not args:
        return _SINGLE
    return {"properties": args, "required": list(args)}


def _schema(form: object) -> Mapping[str, object]:
    """Return the JSON Schema of a pydantic model (v1 or v2), or the given JSON Schema."""
    from pydantic import BaseModel

    # Older tools of LangChain have schemas of pydantic 1.
    from pydantic.v1 import BaseModel as OldModel

    if isinstance(form, dict):
        return form
    if isinstance(form, type) and issubclass(form, BaseModel):
        return form.model_json_schema()
    if isinstance(form, type) and issubclass(form, OldModel):
        old: dict[str, object] = form.schema()
        return old
    raise ConfigurationError(
        f"LangChainToolAdapter: args_schema {form!r} is neither a pydantic model nor a JSON Schema"
    )


def _is_for_the_model(error: Exception) -> bool:
    """LangChain's own way for a tool to say what went wrong."""
    # By its name, because LangChain is never imported here: the tool brings it.
    return any(kind.__name__ == "ToolException" for kind in type(error).__mro__)
