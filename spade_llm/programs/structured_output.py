"""ReadyForStructuredOutputTool: a model's way to say that it knows enough. Changes nothing itself.

A turn that wants an object asks for its form with every call (conversation/turn.py), so nothing
waits for this; programs written for spade_llm 0.3 may still offer it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.tools.llm_tool import LLMTool

if TYPE_CHECKING:
    from pydantic import BaseModel


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
