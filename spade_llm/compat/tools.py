"""Tools: human in the loop, LangChain adapter, ready for structured output.

A question to a human expert carries the metadata that programs for experts recognise:
`type=human_query`, `query_id`, and the query id as thread. Any chat client can answer it, too.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from spade_llm.assistant.delegation.expert_question_log import expert_question_text
from spade_llm.assistant.delegation.expert_questions import (
    EXPERT_MARGIN_S,
    PARAMETERS,
    ExpertQuestion,
)
from spade_llm.assistant.tool_discovery import MessagingAgent
from spade_llm.core.errors import ConfigurationError, RequestError, RequestTimeout, ToolFailed
from spade_llm.messaging import bare, new_id
from spade_llm.providers.model import safe_name
from spade_llm.tools.llm_tool import LLMTool
from spade_llm.tools.toolbox import NO_CONTEXT, current_context
from spade_llm.xmpp.spade_adapters import OneShotBehaviour, SpadeMessage

if TYPE_CHECKING:
    from pydantic import BaseModel

logger = logging.getLogger(__name__)

DESCRIPTION = (
    "Ask a human expert by chat and wait for the answer: for what needs a person's judgement or"
    " knowledge, or what is not clear. One whole question at a time."
)

_SINGLE: Mapping[str, object] = {"properties": {"input": {"type": "string"}}, "required": ["input"]}


def query_metadata(id: str) -> dict[str, str]:
    return {"type": "human_query", "query_id": id}


class HumanInTheLoopTool(LLMTool):
    """Tool that asks a human expert by chat. An agent that has it as a tool calls `set_agent`."""

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
        """Set the agent that sends the questions."""
        self._agent = agent_instance

    async def _ask_expert(self, question: str, context: str | None = None) -> str:
        if self._agent is None:
            raise ToolFailed("Error: this tool has no agent yet: call set_agent first")
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


class HumanInteractionBehaviour(OneShotBehaviour):
    """Behaviour that asks a human expert one question; `response` is the answer, or None.

    An agent that is not of this package needs a template of `thread=query_id`, and an expert with a
    client that answers in the thread.
    """

    def __init__(
        self, human_jid: str, question: str, context: str | None = None, timeout: float = 300.0
    ) -> None:
        super().__init__()
        self.human_jid = human_jid
        self.question = question
        self.context = context
        self.timeout = timeout
        self.query_id = new_id()[:12]
        self.response: str | None = None

    async def run(self) -> None:
        if isinstance(self.agent, MessagingAgent):
            self.response = await self._ask_through_agent(self.agent)
        else:
            text = expert_question_text(
                self.question, self.context or "", asker="", seconds=self.timeout
            )
            metadata = query_metadata(self.query_id)
            await self.send(
                SpadeMessage(to=self.human_jid, body=text, thread=self.query_id, metadata=metadata)
            )
            self.response = await self._answer()
        if self.response is None:
            logger.warning("%s gave no answer to %s", self.human_jid, self.query_id)

    async def _ask_through_agent(self, agent: MessagingAgent) -> str | None:
        question = ExpertQuestion(
            expert=self.human_jid,
            text=self.question,
            background=self.context or "",
            seconds=self.timeout,
            id=self.query_id,
            metadata_of=query_metadata,
        )
        try:
            return await agent.experts.ask(question, context=NO_CONTEXT)
        except RequestError as error:
            logger.info("%s: %s", self.query_id, error)
            return None

    async def _answer(self) -> str | None:
        """Wait for the expert's answer, ignoring others in the thread; None at the timeout."""
        ends_at = time.monotonic() + self.timeout
        while (left_s := ends_at - time.monotonic()) > 0:
            message = await self.receive(timeout=left_s)
            if message is not None and bare(str(message.sender)) == bare(self.human_jid).lower():
                return str(message.body)
        return None


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
            # Tools of old versions accept one text.
            single = next(iter(arguments.values())) if len(arguments) == 1 else arguments
            return await asyncio.to_thread(tool.run, single)
        except Exception as error:
            # LangChain's exception for a message to the model; by name, as it is not imported here.
            if any(kind.__name__ == "ToolException" for kind in type(error).__mro__):
                raise ToolFailed(str(error)) from error
            raise


class ReadyForStructuredOutputTool(LLMTool):
    """Tool by which a model says that it can now give its structured output."""

    TOOL_NAME = "ready_for_structured_output"

    def __init__(self, output_schema: type[BaseModel]) -> None:
        self.output_schema = output_schema

        def say_ready() -> dict[str, str]:
            name = output_schema.__name__
            return {"status": "ready", "message": f"Now answer with the {name} object."}

        super().__init__(
            name=self.TOOL_NAME,
            description=(
                "Call this once you know everything that the final object needs; put nothing of"
                " the object into the call."
            ),
            parameters={"properties": {}},
            func=say_ready,
        )


@runtime_checkable
class _AsyncLangChainTool(Protocol):
    async def ainvoke(self, input: object) -> object: ...


@runtime_checkable
class _SyncLangChainTool(Protocol):
    def run(self, tool_input: object) -> object: ...


def _parameters(tool: LangChainTool) -> Mapping[str, object]:
    """Return the parameters for the model, without arguments that the program injects."""
    if getattr(tool, "args_schema", None) is None:
        args: object = getattr(tool, "args", None)
        if not isinstance(args, dict) or not args:
            return _SINGLE
        return {"properties": args, "required": list(args)}
    return _schema(getattr(tool, "tool_call_schema", None) or getattr(tool, "args_schema", None))


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
