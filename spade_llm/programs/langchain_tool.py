"""LangChainToolAdapter: a LangChain tool as an LLMTool. Needs no LangChain: the tool brings it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from spade_llm.errors import ConfigurationError, ToolFailed
from spade_llm.providers.safe_name import safe_name
from spade_llm.tools.llm_tool import LLMTool

if TYPE_CHECKING:
    from collections.abc import Mapping

_SINGLE: Mapping[str, object] = {
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}


class LangChainTool(Protocol):
    name: str
    description: str


@runtime_checkable
class _Awaited(Protocol):
    async def ainvoke(self, input: object) -> object: ...


@runtime_checkable
class _Run(Protocol):
    def run(self, tool_input: object) -> object: ...


class LangChainToolAdapter(LLMTool):
    """With as many arguments as the tool has; synchronous tools run in a thread."""

    def __init__(self, langchain_tool: LangChainTool) -> None:
        if not isinstance(langchain_tool, _Awaited | _Run):
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
            if isinstance(tool, _Awaited):
                return await tool.ainvoke(arguments)
            return await asyncio.to_thread(tool.run, self._single(arguments))
        except Exception as error:
            if _is_for_the_model(error):
                raise ToolFailed(str(error)) from error
            raise

    def _single(self, arguments: Mapping[str, object]) -> object:
        """Tools of old took one text."""
        return next(iter(arguments.values())) if len(arguments) == 1 else arguments


def _parameters(tool: LangChainTool) -> Mapping[str, object]:
    """What a model may give: arguments that the program injects are not in it."""
    if getattr(tool, "args_schema", None) is None:
        return _of_single(getattr(tool, "args", None))
    return _schema(getattr(tool, "tool_call_schema", None) or getattr(tool, "args_schema", None))


def _of_single(args: object) -> Mapping[str, object]:
    if not isinstance(args, dict) or not args:
        return _SINGLE
    return {"properties": args, "required": list(args)}


def _schema(form: object) -> Mapping[str, object]:
    """Of a pydantic model, of either version, or a JSON Schema."""
    from pydantic import BaseModel
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
    return any(kind.__name__ == "ToolException" for kind in type(error).__mro__)
