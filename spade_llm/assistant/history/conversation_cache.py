"""Conversations in RAM: keys, LRU eviction, idle expiry (TTL), and locks for deletion."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spade_llm.memory.contract import ObservedMessage
    from spade_llm.messaging import AclMessage
    from spade_llm.providers.model import ContextMessage

MAX_MESSAGES = 2000
"""Maximum number of messages of a conversation in RAM; the memory agent stores all of them."""
MAX_CONVERSATIONS = 10_000
"""Maximum number of conversations in RAM; the least recently used is evicted, reloaded later."""

MAX_PER_PEER = 500
"""Maximum number of conversations of a peer in RAM: a peer that opens more evicts only its own."""
MAX_ASKERS = 500
"""Maximum number of senders recorded for a conversation; in a room with more, the parts of single
people cannot be told apart."""

IDLE_S = 3600.0
"""A conversation that rested so long leaves RAM, and comes back with its next message."""


@dataclass(slots=True)
class Conversation:
    """Conversation of a person, a program or a room with one agent."""

    key: str
    peer: str
    """Bare JID; of a room: the room's."""
    askers: set[str] = field(default_factory=set)
    """Senders of its messages, at most MAX_ASKERS."""
    is_loaded: bool = False
    """True if the history from before the process start has been loaded."""
    messages: deque[ContextMessage] = field(default_factory=deque)
    observed: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_MESSAGES))
    """Ids of messages that memory gets, and that are here already when the history is loaded."""
    said: deque[ObservedMessage] = field(default_factory=lambda: deque(maxlen=MAX_MESSAGES))
    """Messages that would otherwise be in memory; empty if there is a memory."""
    last_turn: str = ""
    """Id of the turn of the latest exchange; empty: unknown."""
    interactions: int = 0
    """Answers since it began, or came into RAM."""
    ended: str = ""
    """Reason of the conversation's end; empty: it is active."""
    is_told_over: bool = False
    """True if a sender has been told that the conversation has ended."""
    used_at_s: float = 0.0
    """Time of the last use, on the clock of ConversationCache."""

    def extend(self, messages: Iterable[ContextMessage]) -> None:
        self.messages.extend(messages)
        while len(self.messages) > MAX_MESSAGES:
            # Whole exchanges: OpenAI-compatible servers refuse a tool call without its results.
            self.messages.popleft()
            while self.messages and self.messages[0]["role"] != "user":
                self.messages.popleft()

    def heard_from(self, asker: str) -> None:
        if len(self.askers) < MAX_ASKERS:
            self.askers.add(asker)

    def is_of(self, peer: str) -> bool:
        """True if this peer takes part in it, also in a room, or if that is unknown."""
        if self.peer == peer or peer in self.askers or len(self.askers) >= MAX_ASKERS:
            return True
        # An occupant of a room is known as `JID in ROOM`.
        return any(asker.startswith(peer + " in ") for asker in self.askers)

    def drop_last_exchange(self) -> None:
        """Remove the latest user message and everything after it, for a message that was corrected.
        If that exchange ended the conversation, it goes on."""
        self.last_turn, self.ended, self.is_told_over = "", "", False
        while self.messages and self.messages.pop()["role"] != "user":
            continue

    def unsay(self, ids: Collection[str]) -> None:
        """Remove messages from `said`."""
        left = [message for message in self.said if message.id not in ids]
        self.said.clear()
        self.said.extend(left)

    def begin_anew(self) -> None:
        """Clear the counters and the mark of an ended conversation; the messages stay."""
        self.interactions, self.ended, self.is_told_over = 0, "", False


class ConversationCache:
    """LRU cache of conversations in RAM.

    `idle_s=None`: none expires, since they are stored nowhere else.
    """

    def __init__(
        self,
        *,
        max_conversations: int = MAX_CONVERSATIONS,
        max_of_peer: int = MAX_PER_PEER,
        idle_s: float | None = IDLE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max = max_conversations
        self._max_of_peer = max_of_peer
        self._idle_s = math.inf if idle_s is None else idle_s
        self._clock = clock
        self.on_change: list[Callable[[Conversation], None]] = []
        """Called before a conversation leaves RAM or its messages are replaced, so that nothing is
        kept of them elsewhere."""
        self._by_key: OrderedDict[str, Conversation] = OrderedDict()
        self._of_peer: dict[str, OrderedDict[str, None]] = {}
        """Keys of each peer's, in the order of `_by_key`."""
        self._handed_over: set[str] = set()
        """Keys of conversations that another replica continues, and that a turn still used."""

    def get(self, key: str, *, peer: str) -> Conversation:
        """Return the conversation with this key, creating it if it is missing."""
        # Taken out and put back: the order of the mapping is the order of use.
        conversation = self._by_key.pop(key, None) or Conversation(key, peer)
        conversation.used_at_s = self._clock()
        self._by_key[key] = conversation
        own = self._of_peer.setdefault(conversation.peer, OrderedDict())
        own[key] = None
        own.move_to_end(key)
        if len(own) > self._max_of_peer:
            self.drop(next(iter(own)))
        if len(self._by_key) > self._max:
            self._drop_oldest()
        return conversation

    def expire(self) -> None:
        """Evict conversations that were idle too long; a turn that still runs in one keeps it."""
        while self._by_key and self.next_expiry_s() <= 0:
            self._drop_oldest()

    def next_expiry_s(self) -> float:
        """Seconds until the next conversation can expire."""
        # The first is the least recently used, and so the next to expire.
        for oldest in self._by_key.values():
            return max(0.0, oldest.used_at_s + self._idle_s - self._clock())
        return self._idle_s

    def find(self, name: str) -> Conversation | None:
        """Find a conversation by key, or by thread if only one has it. This does not count as a use
        (LRU)."""
        if name in self._by_key:
            return self._by_key[name]
        found = [one for key, one in self._by_key.items() if key.partition("#")[2] == name]
        return found[0] if name and len(found) == 1 else None

    def at(self, key: str) -> Conversation | None:
        """Look up a conversation by key. This does not count as a use (LRU)."""
        return self._by_key.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def keys(self) -> list[str]:
        """Least recently used first."""
        return list(self._by_key)

    def of_peer(self, peer: str) -> list[Conversation]:
        """Least recently used first."""
        return [one for one in self._by_key.values() if one.peer == peer]

    def will_change(self, conversation: Conversation) -> None:
        """Announce that messages of this conversation are to be replaced or removed."""
        for tell in self.on_change:
            tell(conversation)

    def drop(self, key: str) -> None:
        dropped = self._by_key.pop(key, None)
        if dropped is not None:
            self.will_change(dropped)
            own = self._of_peer[dropped.peer]
            del own[key]
            if not own:
                del self._of_peer[dropped.peer]

    def drop_peer(self, peer: str) -> None:
        """Drop all conversations that this peer takes part in; a room's conversation is dropped
        completely, since a single person's part cannot be removed."""
        for key in [key for key, value in self._by_key.items() if value.is_of(peer)]:
            self.drop(key)

    def hand_over(self, is_ours: Callable[[str], bool], is_used: Callable[[str], bool]) -> None:
        """Drop the conversations with peers of other replicas: when they come back, they are loaded
        again. `is_used`: true while a request of this peer is served."""
        others = {key for key, one in self._by_key.items() if not is_ours(one.peer)}
        left = {key for key in others | self._handed_over if key in self._by_key}
        self._handed_over = {key for key in left if is_used(self._by_key[key].peer)}
        for key in left - self._handed_over:
            self.drop(key)

    def _drop_oldest(self) -> None:
        self.drop(next(iter(self._by_key)))

    def __len__(self) -> int:
        return len(self._by_key)

    def longest(self) -> Conversation | None:
        return max(self._by_key.values(), key=lambda one: len(one.messages), default=None)


def conversation_key(message: AclMessage) -> str:
    """Key of a message's conversation: the stamped sender's bare JID, with the thread if there is
    one, so that peers never share a conversation. Occupants of a room do: their messages belong to
    the room's JID."""
    return conversation_key_for(message.owner, message.conversation_id)


def conversation_key_for(peer: str, thread: str) -> str:
    """Key for a bare JID; the thread is empty if its client sends none."""
    return f"{peer}#{thread}" if thread else peer


def thread_of_key(place: str | None, *, of: str) -> str | None:
    """Thread of a conversation key of this bare JID; None: it has none, or the key is of another
    JID."""
    return place[len(of) + 1 :] if place and place.startswith(f"{of}#") else None


class ConversationLocks:
    """Locks by name: a conversation's key, or a peer for all its conversations."""

    def __init__(self) -> None:
        self._held: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def hold(self, names: Collection[str]) -> AsyncIterator[None]:
        """Hold the locks of all names within the block; they are acquired together."""
        await self.are_free(names)
        is_over = asyncio.Event()
        # No await since the check: nobody can have taken a name meanwhile.
        self._held.update(dict.fromkeys(names, is_over))
        try:
            yield
        finally:
            for name in set(names):
                del self._held[name]
            is_over.set()

    async def are_free(self, names: Collection[str]) -> None:
        """Return once none of them is held."""
        # Another name may be taken while one is waited for: all are looked at again.
        while held := [self._held[name] for name in names if name in self._held]:
            await held[0].wait()
