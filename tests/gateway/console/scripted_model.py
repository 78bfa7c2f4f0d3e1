"""A model that does as it is told: waits, calls a tool, writes hostile text; else it echoes."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spade_llm.core.errors import ModelUnavailable
from spade_llm.providers.model import Completion, TextDelta, ToolCall
from spade_llm.tools import LLMTool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

    from spade_llm.providers.model import ContextMessage, Sampling, ToolSpec

HOSTILE = (
    '<img src=x onerror="window.wasRun = 1"> <script>window.wasRun = 1</script>\n\n'
    "[click](javascript:window.wasRun=1) [data](data:text/html,<script>1</script>)"
    " ![image](https://elsewhere.example/pixel.png) [fine](https://example.org/)"
)
FORMATTED = "**Two** steps:\n\n1. one\n2. two\n\n```python\nprint('<b>hi</b>')\n```"
LINE = "value = " + " + ".join(f"operand_{n}" for n in range(10))
ROW = f"| {' | '.join(f'column_{n}_of_a_wide_table' for n in range(9))} |"
TABLE = f"{ROW}\n|{' - |' * 9}\n{ROW}"
WIDE = f"Wide:\n\n```python\n{LINE}\n```\n\n{TABLE}\n\n> - ```\n>   {LINE}\n>   ```"
OUTLINE = "### Deep\n\ntext\n\n##### Deeper\n\n# High"
ANSWERS = {"outline": OUTLINE, "hostile": HOSTILE, "format": FORMATTED, "wide": WIDE}
BEGINNING, END = "The beginning", " and the end."
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}


class Talker:
    """Satisfies ChatModel."""

    name = "talker"

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        """What `wait` waits for, after the beginning of its answer."""
        self.was_stopped = asyncio.Event()
        self.erased: list[str] = []

    @property
    def eraser(self) -> LLMTool:
        return LLMTool("erase", "Erases a file.", PARAMETERS, self._erase, needs_approval=True)

    def _erase(self, path: str) -> str:
        self.erased.append(path)
        return f"{path} is gone"

    async def complete(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> Completion:
        last = messages[-1]
        said = str(last["content"])
        if last["role"] == "tool":
            return Completion(text=f"The tool says: {said}")
        if said.startswith("fail"):
            raise ModelUnavailable("the model is away")
        if said.startswith("erase "):
            path = said.removeprefix("erase ")
            call = ToolCall(id="1", name="erase", arguments=f'{{"path": "{path}"}}')
            return Completion(tool_calls=(call,))
        return Completion(text=ANSWERS.get(said, f"You said: {said}"))

    async def stream(
        self,
        messages: Sequence[ContextMessage],
        tools: Sequence[ToolSpec] = (),
        *,
        tool_choice: str = "auto",
        response_schema: Mapping[str, object] | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncGenerator[TextDelta | Completion]:
        if str(messages[-1]["content"]).startswith("wait"):
            yield TextDelta(BEGINNING)
            with self._seen_stopping():
                await self.gate.wait()
            yield TextDelta(END)
            yield Completion(text=BEGINNING + END)
            return
        completion = await self.complete(messages, tools, tool_choice=tool_choice)
        yield TextDelta(completion.text)
        yield completion

    @contextmanager
    def _seen_stopping(self) -> Iterator[None]:
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit):
            self.was_stopped.set()
            raise
