"""What an assistant does with files: composition only."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.behaviour.sending_files import SendingFiles, export_name
from spade_llm.behaviour.taking_files import TakingFiles
from spade_llm.conversation.commands import parse_command
from spade_llm.errors import NotFound, RequestError
from spade_llm.rag.names import personal_namespace
from spade_llm.xmpp.sent_file import send_file
from spade_llm.xmpp.uploads import upload_host

if TYPE_CHECKING:
    from spade_llm.conversation.file_rules import FileRules
    from spade_llm.providers.model import ChatModel
    from spade_llm.services.rag import RagClient
    from spade_llm.xmpp.agent import XmppAgent

logger = logging.getLogger(__name__)


class Files:
    def __init__(self, agent: XmppAgent, documents: RagClient | None, *, rules: FileRules) -> None:
        self._agent = agent
        self._documents = documents
        self._rules = rules

    def taking(self, model: ChatModel, *, is_offline: bool) -> TakingFiles:
        return TakingFiles(
            self._documents,
            upload_host=self._upload_host,
            rules=self._rules,
            model=None if is_offline else model,
        )

    async def forget(self, peer: str) -> None:
        """All that this bare JID has shared. Raises RequestError."""
        if self._documents is None:
            return
        try:
            await self._documents.delete(namespace=personal_namespace(peer))
        except RequestError as error:
            if error.wire_code != NotFound.code:
                raise

    def sending(self) -> SendingFiles:
        return SendingFiles(
            partial(send_file, self._agent),
            long_answer_chars=self._rules.long_answer_chars,
            name_of=_wanted_as,
        )

    async def _upload_host(self) -> str:
        try:
            return await upload_host(self._agent)
        except RequestError as error:
            logger.info("no uploads at the server of %s: %s", self._agent.jid, error)
            return ""


def _wanted_as(text: str) -> str:
    command = parse_command(text, ("export",))
    return export_name(command.name) if command else ""
