"""The tools that every tool agent has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.providers.model import ToolExample
from spade_llm.tools.calculator import calculate
from spade_llm.tools.clock import datetime_tool, utc_now
from spade_llm.tools.function_tool import tool

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from spade_llm.tools.llm_tool import Tool


@tool(
    examples=[
        ToolExample(input={"expression": "(17.5 - 3) * 2 ** 10"}, output="14848"),
        ToolExample(input={"expression": "200 * 15%"}, output="30"),
    ]
)
def calculator(expression: str) -> str:
    """Calculate an arithmetic expression exactly.

    Operators: + - * / // % ** and parentheses; '15%' at the end of a term is a percentage.
    Functions: sqrt abs round floor ceil min max exp ln log log2 log10 sin cos tan asin acos atan
    (radians; round goes half away from zero). Constants: pi, e.

    Args:
        expression: For instance '(17.5 - 3) * 2 ** 10'. No thousands separators.
    """
    return calculate(expression)


def builtin_tools(*, now: Callable[[], datetime] = utc_now) -> tuple[Tool, ...]:
    """`get_current_datetime` and `calculator`."""
    return (datetime_tool(now), calculator)
