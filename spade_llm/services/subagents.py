"""The agents that a coordinator asks: ours in `spade-llm.chat/1`, any other by chat message.

Each answer comes back to the one question that it is for: ours by the request's id, others' by a
thread that is used once. Knows no model and no presence.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from spade_llm.acl import CHAT_TEXT, FOR_MODELS, bare, new_id
from spade_llm.errors import PeerUnavailable, RequestError, RequestTimeout
from spade_llm.services.chat import ChatClient
from spade_llm.services.correspondence import chat_message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spade_llm.acl import AclMessage
    from spade_llm.runtime import Bounce, Node
    from spade_llm.services.correspondence import Correspondence

logger = logging.getLogger(__name__)

TIMEOUT_S = 120.0


class Standing(StrEnum):
    """What is known of an agent by its presence."""

    OURS = "ours"
    """It is there, and understands our requests."""
    THERE = "there"
    AWAY = "away"
    UNKNOWN = "unknown"
    """Its presence does not reach us."""


Look = Callable[[str], Awaitable[Standing]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Office:
    """The agent that asks."""

    node: Node
    letters: Correspondence
    look: Look


class SubAgents:
    """Satisfies Asker, once it has joined an agent."""

    def __init__(self, jids: Sequence[str], *, session: str, timeout_s: float = TIMEOUT_S) -> None:
        """`session`: a name that all of a coordinator's messages carry."""
        self.jids = tuple(dict.fromkeys(bare(jid).lower() for jid in jids))
        self.session = session
        self.timeout_s = timeout_s
        self._office: _Office | None = None
        self._at_work = Counter[str]()
        self._silent: set[str] = set()

    def join(self, node: Node, letters: Correspondence, look: Look) -> None:
        self._office = _Office(node=node, letters=letters, look=look)
        node.askers.append(self)

    async def ask(self, jid: str, text: str, *, asker: str) -> str:
        """The answer. `asker` is who is behind it all: what is asked for them is one conversation.

        Raises RequestError, also where the agent is known to be away.
        """
        office = self._office
        if office is None:
            raise RuntimeError("the sub-agents have not joined an agent")
        standing = await office.look(jid)
        if standing is Standing.AWAY:
            raise PeerUnavailable(f"{jid} is away", peer=jid)
        conversation = f"{self.session}.{_digest(asker)}"
        with self._noted(jid):
            if standing is Standing.OURS:
                client = ChatClient(office.node.requester, jid, timeout_s=self.timeout_s)
                return (await client.say(text, conversation_id=conversation)).text
            return await self._ask_plainly(office, jid, text, conversation)

    async def states(self) -> dict[str, str]:
        """One word for each agent: `working`, `timeout`, `away`, or `idle`."""
        return {jid: await self._state(jid) for jid in self.jids}

    def receive(self, message: AclMessage) -> bool:
        """Answers to what was asked before this process began are for nobody."""
        is_theirs = message.owner in self.jids and message.ontology == CHAT_TEXT
        is_late = is_theirs and message.conversation_id.startswith(f"{self.session}.")
        if is_late:
            logger.info("%s answered what is asked no more", message.owner)
        return is_late

    def bounced(self, bounce: Bounce) -> bool:
        return False

    async def _ask_plainly(self, office: _Office, jid: str, text: str, conversation: str) -> str:
        metadata = {**FOR_MODELS, "coordination_session": self.session}
        thread = f"{conversation}.{new_id()[:12]}"
        message = chat_message(jid, text, thread=thread, metadata=metadata)
        return (await office.letters.ask(message, timeout_s=self.timeout_s)).content

    async def _state(self, jid: str) -> str:
        if self._at_work[jid]:
            return "working"
        if jid in self._silent:
            return "timeout"
        is_away = self._office and await self._office.look(jid) is Standing.AWAY
        return "away" if is_away else "idle"

    @contextmanager
    def _noted(self, jid: str) -> Iterator[None]:
        self._at_work[jid] += 1
        try:
            yield
        except RequestTimeout:
            self._silent.add(jid)
            raise
        except RequestError:
            self._silent.discard(jid)
            raise
        else:
            self._silent.discard(jid)
        finally:
            self._at_work[jid] -= 1


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
