"""LLMTool as programs written for spade_llm 0.2/0.3 use it: made, subclassed, executed, shown."""

from __future__ import annotations

import threading

import pytest

from spade_llm.core.errors import ConfigurationError
from spade_llm.tools import LLMTool, LocalToolbox

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def weather(city: str) -> str:
    return f"Sun in {city}"


async def slow_weather(city: str) -> str:
    return f"Rain in {city}"


class Ready(LLMTool):
    """With attributes set before and after, and an execute of its own."""

    def __init__(self, goal: str) -> None:
        self.goal = goal
        super().__init__(name="ready", description="Says so", parameters={}, func=self._unused)
        self.times = 0

    def _unused(self) -> str:
        raise AssertionError("execute is overridden")

    async def execute(self, **kwargs: object) -> object:
        self.times += 1
        return {"status": "ready", "goal": self.goal, **kwargs}


@pytest.mark.parametrize(("func", "text"), [(weather, "Sun"), (slow_weather, "Rain")])
async def test_a_tool_can_be_executed_without_a_toolbox(func: object, text: str) -> None:
    assert callable(func)
    tool = LLMTool(name="weather", description="of a city", parameters=CITY, func=func)

    assert await tool.execute(city="Lund") == f"{text} in Lund"


async def test_a_plain_function_is_executed_in_a_thread() -> None:
    tool = LLMTool("where", "which thread", {}, lambda: threading.current_thread().name)

    assert await tool.execute() != threading.main_thread().name


async def test_a_subclass_may_set_attributes_and_override_what_is_executed() -> None:
    ready = Ready("lunch")
    toolbox = LocalToolbox([ready])

    result = await toolbox.call("ready", {})

    assert result.text == '{"status":"ready","goal":"lunch"}'
    assert ready.times == 1


async def test_a_changed_description_is_what_a_model_reads() -> None:
    tool = LLMTool("weather", "of a city", CITY, weather)
    tool.description = "of a town"

    (spec,) = await LocalToolbox([tool]).list()

    assert spec.description == "of a town"


def test_a_tool_is_shown_in_the_form_of_the_protocol() -> None:
    tool = LLMTool("weather", "of a city", CITY, weather, strict=True)

    function = {"name": "weather", "description": "of a city", "parameters": CITY}
    assert tool.to_dict() == function
    assert tool.to_openai_tool() == {"type": "function", "function": {**function, "strict": True}}
    assert tool.spec.is_strict


def test_parameters_without_a_type_are_those_of_an_object() -> None:
    tool = LLMTool("now", "the time", {"properties": {}}, weather)

    assert tool.spec.parameters == {"type": "object", "properties": {}}


def test_limits_are_given_by_keyword_and_checked() -> None:
    assert LLMTool("a", "b", {}, weather, timeout_s=3).timeout_s == 3
    with pytest.raises(ConfigurationError, match="timeout_s"):
        LLMTool("a", "b", {}, weather, timeout_s=0)
