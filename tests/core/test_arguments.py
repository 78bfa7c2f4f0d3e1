"""Wrong arguments of public constructors: the error names the argument and the fix."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from spade_llm import (
    AgentOptions,
    ChatAgent,
    CoordinatorAgent,
    LLMAgent,
    LLMProvider,
    OfflineProvider,
    RAGAgent,
    ScriptedProvider,
    Services,
    ToolAgent,
    TurnLimits,
)
from spade_llm.agents import ConnectionSettings, Expert
from spade_llm.context import WindowSizeContext
from spade_llm.core.errors import ConfigurationError
from spade_llm.guardrails import CustomFunctionGuardrail, KeywordGuardrail, RegexGuardrail
from spade_llm.tools import LLMTool, tool

# Mistakes that a type checker would report, too: hence Any.
anything: Any = None
llm_agent: Any = LLMAgent
tool_agent: Any = ToolAgent
OFFLINE = OfflineProvider()
JID, PASSWORD = "ada@localhost", "orange"


def wrong(value: object) -> Any:
    return value


def double(number: int) -> int:
    return 2 * number


class Unknown:
    pass


def takes_unknown(what: Unknown) -> str:
    return str(what)


def _assistant(**arguments: object) -> Callable[[], object]:
    return lambda: llm_agent(JID, PASSWORD, OFFLINE, **arguments)


WRONG_TYPES: dict[str, tuple[Callable[[], object], str]] = {
    "a model by its name": (lambda: llm_agent(JID, PASSWORD, "openai/gpt-5"), "LLMProvider("),
    "a model's class": (
        lambda: llm_agent(JID, PASSWORD, OfflineProvider),
        "provider is the class OfflineProvider: create an object of it",
    ),
    "no model": (lambda: llm_agent(JID, PASSWORD, None), "provider is None"),
    "no account": (lambda: llm_agent(None, PASSWORD, OFFLINE), "jid is None: give a JID"),
    "the prompt as a strategy": (
        lambda: llm_agent(JID, PASSWORD, OFFLINE, "Be brief."),
        "context_management is 'Be brief.': give a strategy",
    ),
    "a strategy's class": (
        _assistant(context_management=WindowSizeContext),
        "context_management is <class",
    ),
    "a JID as services": (
        _assistant(services="memory@localhost"),
        "services is 'memory@localhost'",
    ),
    "a dict of limits": (_assistant(limits={"seconds": 1}), "limits is {'seconds': 1}"),
    "a dict of options": (_assistant(options={"host": "localhost"}), "options is {'host'"),
    "a misspelt keyword": (_assistant(sytem_prompt=""), "did you mean 'system_prompt'?"),
    "a plain function as a tool": (_assistant(tools=[double]), "@tool of spade_llm.tools"),
    "one tool, no list": (_assistant(tools=tool(double)), "tools is <.*: give a list"),
    "a plain function at a tool agent": (
        lambda: tool_agent(JID, PASSWORD, tools=[double]),
        "@tool of spade_llm.tools",
    ),
    "a function as a guardrail": (
        _assistant(input_guardrails=[double]),
        "CustomFunctionGuardrail makes one of a function",
    ),
    "one guardrail, no list": (
        _assistant(output_guardrails=KeywordGuardrail("no", ["casino"])),
        "output_guardrails is <.*: give a list",
    ),
    "one marker, no list": (_assistant(termination_markers="<DONE>"), "termination_markers is"),
    "a JSON Schema as a model": (_assistant(output_schema={}), "subclass of pydantic's BaseModel"),
    "BaseModel itself": (_assistant(output_schema=BaseModel), "with at least one field"),
    "one JID, no list": (
        lambda: Services(tools=wrong("tools@localhost")),
        "Services: tools is",
    ),
    "patterns as a list": (
        lambda: RegexGuardrail("no", wrong(["x"])),
        "give a dict of pattern",
    ),
    "no function to check": (
        lambda: CustomFunctionGuardrail("no", wrong("x")),
        "give a function that returns a GuardrailResult",
    ),
    "one answer, no list": (lambda: ScriptedProvider("Hello"), "give a list of answers"),
    "a tool's unknown option": (lambda: tool(**{"timeout": anything}), "did you mean 'timeout_s'?"),
    "an LLMTool's unknown option": (
        lambda: LLMTool("double", "", {}, double, **{"timeout": anything}),
        "did you mean 'timeout_s'?",
    ),
    "a port in words": (lambda: ConnectionSettings(port=wrong("5222")), "port is '5222'"),
}


@pytest.mark.parametrize("mistake", WRONG_TYPES)
def test_an_argument_of_a_wrong_type_is_named_with_the_fix(mistake: str) -> None:
    create, says = WRONG_TYPES[mistake]

    with pytest.raises(TypeError, match=re.escape(says).replace(r"\.\*", ".*")):
        create()


WRONG_VALUES: dict[str, tuple[Callable[[], object], str]] = {
    "a JID without a domain": (lambda: LLMAgent("ada", PASSWORD, OFFLINE), "jid is 'ada'"),
    "a JID with a space": (lambda: ChatAgent("a b@localhost", PASSWORD), "jid is 'a b@localhost'"),
    "a target without a domain": (lambda: ChatAgent(JID, PASSWORD, "bob"), "target_agent_jid is"),
    "a service without a domain": (lambda: Services(memory="memory"), "Services: memory is"),
    "a tool agent without a domain": (lambda: Services(tools=("tools",)), "Services: tools is"),
    "an expert without a domain": (lambda: Expert(name="keeper", jid="keeper"), "Expert 'keeper'"),
    "a sub-agent without a domain": (
        lambda: CoordinatorAgent(JID, PASSWORD, ["bob"], provider=OFFLINE),
        "subagent_ids is 'bob'",
    ),
    "no time for a turn": (lambda: TurnLimits(seconds=0), "seconds is 0: give a number above 0"),
    "rounds below zero": (lambda: TurnLimits(tool_rounds=-1), "give a number of at least 0"),
    "a limit in words": (lambda: TurnLimits(tool_calls=wrong("many")), "tool_calls is 'many'"),
    "a port in the host": (
        lambda: ConnectionSettings(host="localhost:5222"),
        "write host='localhost', port=5222",
    ),
    "no folder for documents": (lambda: RAGAgent(JID, PASSWORD), "options=AgentOptions(data="),
    "a type without a schema": (lambda: tool(takes_unknown), "tool 'takes_unknown': one of its"),
    "a misspelt provider": (lambda: LLMProvider("openia/gpt-5"), "did you mean 'openai'?"),
}


@pytest.mark.parametrize("mistake", WRONG_VALUES)
def test_a_wrong_value_is_named_with_the_fix(mistake: str) -> None:
    create, says = WRONG_VALUES[mistake]

    with pytest.raises(ConfigurationError, match=re.escape(says)):
        create()


def test_a_password_of_a_wrong_type_is_not_shown() -> None:
    with pytest.raises(TypeError) as caught:
        llm_agent(JID, b"orange", OFFLINE)

    assert "password is an object of bytes" in str(caught.value)
    assert "orange" not in str(caught.value)


def test_a_password_in_the_place_of_the_model_is_not_shown() -> None:
    with pytest.raises(TypeError) as caught:
        llm_agent(JID, OFFLINE, "orange")

    assert "orange" not in str(caught.value)


def test_a_rag_agent_needs_nothing_but_an_account_and_a_folder(tmp_path: Path) -> None:
    RAGAgent(JID, PASSWORD, options=AgentOptions(data=tmp_path))


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("lmstudio/qwen3", "http://localhost:1234/v1"),
        ("vllm/qwen3", "http://localhost:8000/v1"),
        ("llamacpp/qwen3", "http://localhost:8080/v1"),
    ],
)
def test_programs_name_local_models_as_the_command_line_does(name: str, url: str) -> None:
    assert LLMProvider(name).base_url == url
