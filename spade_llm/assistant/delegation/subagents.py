"""Sub-agents of a coordinator: tools to ask them, requests and replies, presence."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.client import ChatClient
from spade_llm.core.errors import PeerUnavailable, RequestError, RequestTimeout, ToolFailed
from spade_llm.messaging import CHAT_TEXT, FOR_MODELS_METADATA, bare, new_id
from spade_llm.messaging.message import stable_id
from spade_llm.messaging.outgoing_messages import OutgoingMessages, chat_message
from spade_llm.tools.llm_tool import LLMTool, Tool
from spade_llm.tools.toolbox import current_context

if TYPE_CHECKING:
    from spade_llm.messaging import AclMessage, Bounce, Node
    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.features.peer_features import PeerPresence

logger = logging.getLogger(__name__)

TIMEOUT_S = 120.0


class PresenceStatus(StrEnum):
    """Availability of an agent according to its presence."""

    OURS = "ours"
    """It is there, and understands our requests."""
    THERE = "there"
    AWAY = "away"
    UNKNOWN = "unknown"
    """Its presence does not reach us."""


PresenceLookup = Callable[[str], Awaitable[PresenceStatus]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coordinator:
    """The agent that asks."""

    node: Node
    letters: OutgoingMessages
    presence_of: PresenceLookup


class SubAgents:
    """ReplyListener for answers of sub-agents, once it has joined an agent."""

    def __init__(self, jids: Sequence[str], *, session: str, timeout_s: float = TIMEOUT_S) -> None:
        """`session`: a name that all of a coordinator's messages carry."""
        # Lower case, as servers stamp senders.
        self.jids = tuple(dict.fromkeys(bare(jid).lower() for jid in jids))
        self.session = session
        self.timeout_s = timeout_s
        self._coordinator: _Coordinator | None = None
        self._working = Counter[str]()
        self._timed_out: set[str] = set()

    def join(self, node: Node, letters: OutgoingMessages, presence_of: PresenceLookup) -> None:
        self._coordinator = _Coordinator(node=node, letters=letters, presence_of=presence_of)
        node.askers.append(self)

    async def ask(self, jid: str, text: str, *, asker: str, id: str | None = None) -> str:
        """Ask an agent and return its answer. `asker` is the original sender; all requests on
        behalf of one sender share a conversation. `id`: of the request; asked again under it, an
        agent of ours gives the same answer.

        Raises RequestError, also if presence shows that the agent is offline.
        """
        coordinator = self._coordinator
        if coordinator is None:
            raise RuntimeError("SubAgents.join has not been called")
        presence = await coordinator.presence_of(jid)
        # Reported at once instead of after the timeout.
        if presence is PresenceStatus.AWAY:
            raise PeerUnavailable(f"{jid} is away", peer=jid)
        conversation = f"{self.session}.{_digest(asker)}"
        with self._track(jid):
            if presence is PresenceStatus.OURS:
                client = ChatClient(coordinator.node.requester, jid, timeout_s=self.timeout_s)
                return (await client.say(text, conversation_id=conversation, id=id)).text
            metadata = {**FOR_MODELS_METADATA, "coordination_session": self.session}
            # A thread for each question: a plain agent answers in it, and answers must not cross.
            thread = f"{conversation}.{new_id()[:12]}"
            message = chat_message(jid, text, thread=thread, metadata=metadata)
            return (await coordinator.letters.ask(message, timeout_s=self.timeout_s)).content

    async def states(self) -> dict[str, str]:
        """State of each agent: `working`, `timeout`, `away`, or `idle`."""
        return {jid: await self._state(jid) for jid in self.jids}

    def receive(self, message: AclMessage) -> bool:
        """Discard late answers, such as those to requests sent before a restart."""
        is_theirs = message.owner in self.jids and message.ontology == CHAT_TEXT
        is_late = is_theirs and message.conversation_id.startswith(f"{self.session}.")
        if is_late:
            logger.info("ignoring a late answer of %s", message.owner)
        return is_late

    def bounced(self, bounce: Bounce) -> bool:
        return False

    async def _state(self, jid: str) -> str:
        if self._working[jid]:
            return "working"
        if jid in self._timed_out:
            return "timeout"
        is_away = (
            self._coordinator and await self._coordinator.presence_of(jid) is PresenceStatus.AWAY
        )
        return "away" if is_away else "idle"

    @contextmanager
    def _track(self, jid: str) -> Iterator[None]:
        self._working[jid] += 1
        try:
            yield
        except RequestTimeout:
            self._timed_out.add(jid)
            raise
        except RequestError:
            self._timed_out.discard(jid)
            raise
        else:
            self._timed_out.discard(jid)
        finally:
            self._working[jid] -= 1


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


PRESENCE_TIMEOUT_S = 1.0
"""Maximum wait for an agent's presence, in seconds, at the first lookup."""


class PresenceTracker:
    """Presence of agents, as it was received last."""

    def __init__(self, agent: XmppAgent, jids: Sequence[str]) -> None:
        self._agent = agent
        self._connections: defaultdict[str, dict[str, bool]] = defaultdict(dict)
        """Connections by bare JID; the value tells whether the client is spade_llm software."""
        self._seen = {jid: asyncio.Event() for jid in jids}
        """Set once its presence, or the lack of it, is known."""
        agent.on_peer_presence.append(self._sight)
        for jid in jids:
            agent.subscribe_presence(jid)

    async def of(self, jid: str) -> PresenceStatus:
        await self._wait_once(jid)
        if there := self._connections[jid].values():
            # A message to the bare JID may reach any connection (RFC 6121 §8.5.2.1).
            return PresenceStatus.OURS if all(there) else PresenceStatus.THERE
        return PresenceStatus.AWAY if self._agent.is_subscribed_to(jid) else PresenceStatus.UNKNOWN

    async def _wait_once(self, jid: str) -> None:
        seen = self._seen.get(jid)
        if seen is None or seen.is_set():
            return
        try:
            async with asyncio.timeout(PRESENCE_TIMEOUT_S):
                await seen.wait()
        except TimeoutError:
            seen.set()

    def _sight(self, seen: PeerPresence) -> None:
        jid = bare(seen.jid)
        if jid not in self._seen:
            return
        if seen.is_available:
            self._connections[jid][seen.jid] = seen.is_ours
        else:
            self._connections[jid].pop(seen.jid, None)
        self._seen[jid].set()


SUBAGENT_MARGIN_S = 15.0
"""Margin of the tool's timeout over the time for an answer, in seconds, so that the agent's timeout
is reported first."""
MAX_TASKS = 20
"""Maximum number of tasks sent by one call."""
MAX_MESSAGE_CHARS = 30_000


def coordination_tools(agents: SubAgents) -> tuple[Tool, ...]:
    tasks = _TaskTools(agents)
    task = _object(
        agent_id={"type": "string", "enum": list(agents.jids), "description": "Which agent."},
        message={
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_MESSAGE_CHARS,
            "description": "The whole task: the agent sees nothing of the conversation.",
        },
    )
    limit_s = agents.timeout_s + SUBAGENT_MARGIN_S
    return (
        LLMTool(
            "send_to_agent",
            "Give a task to one agent and wait for its answer.",
            task,
            tasks.send,
            timeout_s=limit_s,
            asks_others=True,
        ),
        LLMTool(
            "send_to_agents_parallel",
            "Give tasks to several agents at once and wait for all answers: for tasks that do not"
            " need each other's results.",
            _object(tasks={"type": "array", "minItems": 1, "maxItems": MAX_TASKS, "items": task}),
            tasks.send_all,
            timeout_s=limit_s,
            asks_others=True,
        ),
        LLMTool(
            "list_subagents",
            "List the agents that can be asked, and whether each is idle, working, away, or did"
            " not answer in time.",
            _object(),
            tasks.list,
        ),
    )


@dataclass(frozen=True, slots=True)
class _TaskTools:
    agents: SubAgents

    async def send(self, agent_id: str, message: str) -> str:
        try:
            return await self._answer(agent_id, message)
        except RequestError as error:
            raise ToolFailed(f"no answer from {agent_id}: {error.detail}") from error

    async def send_all(self, tasks: Sequence[Mapping[str, str]]) -> str:
        """Send tasks in parallel; an agent's error is reported among the answers of the others."""
        lines = (self._line(number, task) for number, task in enumerate(tasks))
        return "\n\n".join(await asyncio.gather(*lines))

    async def list(self) -> str:
        states = (await self.agents.states()).items()
        lines = "\n".join(f"- {jid}: {state}" for jid, state in states)
        return f"Agents of the session {self.agents.session}:\n{lines}"

    async def _line(self, number: int, task: Mapping[str, str]) -> str:
        try:
            return await self._answer(task["agent_id"], task["message"], number)
        except RequestError as error:
            return f"No answer from {task['agent_id']}: {error.detail}"

    async def _answer(self, agent_id: str, message: str, number: int = 0) -> str:
        """Answer to the task with this number of one call."""
        context = current_context.get()
        # The key covers the call's arguments: a resumed turn repeats the same tasks.
        id = stable_id(context.idempotency_key, str(number)) if context.idempotency_key else None
        answer = await self.agents.ask(agent_id, message, asker=context.on_behalf_of, id=id)
        return f"Response from {agent_id}: {answer}"


def _object(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties)}
