"""`/tools`: what the model may do, and for what it asks first. Calls nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.memory.one_line import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spade_llm.behaviour.commands import Commands
    from spade_llm.conversation.approval import Question
    from spade_llm.providers.model import ToolSpec
    from spade_llm.services.chat import Utterance
    from spade_llm.tools.toolbox import Toolbox

MAX_TOOLS = 100
MAX_CHARS = 160
"""Of what a tool says of itself."""


class ToolsCommand:
    def __init__(
        self,
        toolbox_for: Callable[[str], Toolbox],
        questions_of: Callable[[str], Sequence[Question]],
    ) -> None:
        """Both take a bare JID: which tools its turns have, and what it is asked now."""
        self._toolbox_for = toolbox_for
        self._questions_of = questions_of

    def add_to(self, commands: Commands) -> None:
        commands.add("tools", self._list, "/tools – what I can do, and what I ask you about first")

    async def _list(self, _argument: str, utterance: Utterance) -> str:
        tools = await self._toolbox_for(utterance.peer).list()
        lines = [_line(tool) for tool in tools[:MAX_TOOLS]]
        if more := len(tools) - len(lines):
            lines.append(f"… and {more} more.")
        head = "What my model can call:" if lines else "My model has no tools."
        return "\n".join([head, *lines, *map(_asked, self._questions_of(utterance.peer))])


def _line(tool: ToolSpec) -> str:
    about = one_line(tool.description.strip().partition("\n")[0], MAX_CHARS)
    asks = " I ask you before each call." if tool.needs_approval else ""
    return f"- {tool.name}: {about}{asks}"


def _asked(question: Question) -> str:
    return f"Waiting for your yes or no: {question.tool}."
