"""What a person can ask an assistant about itself, beside talking to it. Composition only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.behaviour.documents_command import DocumentsCommand
from spade_llm.behaviour.tools_command import ToolsCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.behaviour.documents_command import OwnedDocuments
    from spade_llm.behaviour.llm import LLMBehaviour
    from spade_llm.services.chat import ChatService


def add_own_commands(
    behaviour: LLMBehaviour,
    chat: ChatService,
    documents: OwnedDocuments | None,
    *,
    shared: Sequence[str],
) -> None:
    DocumentsCommand(documents, shared).add_to(behaviour.commands)
    ToolsCommand(behaviour.toolbox_of, chat.questions_of).add_to(behaviour.commands)
