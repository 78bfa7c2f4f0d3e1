"""Human experts: the tool `ask_NAME`, questions by chat, answers and timeouts."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Self

from spade_llm.assistant.delegation.expert_question_log import (
    EXPERT_TABLES,
    ExpertQuestionLog,
    LoggedExpertQuestion,
    closed_text,
    disambiguation_text,
    expert_question_text,
    withdrawn_text,
)
from spade_llm.core.errors import (
    PeerUnavailable,
    RequestError,
    RequestRefused,
    RequestTimeout,
    ToolFailed,
)
from spade_llm.messaging import CHAT_TEXT, Performative, bare
from spade_llm.messaging.outgoing_messages import chat_message
from spade_llm.tools.llm_tool import LLMTool
from spade_llm.tools.toolbox import current_context
from spade_llm.xmpp.connection.jids import check_agent_jid

if TYPE_CHECKING:
    from spade_llm.messaging import AclMessage, Bounce, Node
    from spade_llm.messaging.outgoing_messages import OutgoingMessages, SpawnTask
    from spade_llm.tools import Tool
    from spade_llm.tools.toolbox import CallContext
    from spade_llm.xmpp.agent import XmppAgent

logger = logging.getLogger(__name__)

MAX_OPEN = 48
"""Questions of one agent; fewer than the calls that one caller may have running."""
MAX_OPEN_PER_EXPERT = 16
ANSWER_RETENTION_S = 900.0
"""Retention of an answer after its expiry, in seconds, for a turn that is resumed; and of a closed
question, to recognise late answers."""
RECENTLY_CLOSED_S = 60.0
"""Seconds after expiry in which an answer without a thread may still mean the question."""
MAX_KNOWN = 1000
MAX_ANSWER_CHARS = 20_000
MAX_CHOICES = 3
"""Times that an expert is asked which question is meant: a program might answer that for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertQuestion:
    expert: str
    """JID."""
    text: str
    background: str = ""
    seconds: float = 300.0
    """Time limit for the answer, in seconds."""
    id: str = ""
    """Empty: made of the question and the turn that it is asked in: asked again, it is the same."""
    metadata_of: Callable[[str], Mapping[str, str]] | None = None
    """Function from the question's id to the message's metadata, as agreed with the expert's
    program; None: a plain chat message."""


@dataclass(slots=True, eq=False)
class _OpenExpertQuestion:
    row: LoggedExpertQuestion
    is_sent: bool = False
    is_taken: bool = False
    """True if the answer was delivered to its caller and is not stored any longer."""
    is_withdrawn: bool = False
    """The turn that it was asked in was stopped."""
    is_told: bool = False
    """The expert knows that it is over: said once, since a program might answer that, too."""
    waiting: int = 0
    """Calls for its answer: a turn may ask the same twice at once."""
    answer: asyncio.Future[str] = field(default_factory=asyncio.Future)


@dataclass(slots=True)
class _AmbiguousAnswer:
    """Answer that cannot be assigned to a question yet."""

    text: str
    ids: list[str]
    """Ids of the candidate questions, in the order of their numbers."""
    times: int = 0
    """Number of times that the expert was asked to choose."""


class ExpertQuestions:
    """ReplyListener for answers of human experts. On entry it loads the questions asked before a
    restart."""

    def __init__(
        self,
        node: Node,
        letters: OutgoingMessages,
        log: ExpertQuestionLog,
        *,
        run: SpawnTask,
        is_alone: bool = False,
        is_for_others: Callable[[AclMessage], bool] = lambda _message: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Create the service. `is_alone`: nothing else in this agent reads chats. `is_for_others`:
        true for a message without a thread that has another purpose, such as an approval of a tool
        call."""
        self._node = node
        self._letters = letters
        self._log = log
        self._run = run
        self._is_alone = is_alone
        self._is_for_others = is_for_others
        self._clock = clock
        self._asked: OrderedDict[str, _OpenExpertQuestion] = OrderedDict()
        self._unclear: dict[str, _AmbiguousAnswer] = {}

    async def __aenter__(self) -> Self:
        await self._log.__aenter__()
        for row in await self._log.load(since=self._clock() - ANSWER_RETENTION_S):
            self._asked[row.id] = asked = _OpenExpertQuestion(row, is_sent=row.is_sent)
            if row.answer is not None:
                asked.answer.set_result(row.answer)
        if self._asked:
            self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._log.__aexit__()

    async def ask(self, question: ExpertQuestion, *, context: CallContext) -> str:
        """The expert's words.

        Raises:
            RequestTimeout: none came in time.
            RequestRefused: too many questions are open, or the expert's program refused.
            PeerUnavailable: there is no such account.
        """
        who = (bare(question.expert), context.on_behalf_of, context.turn)
        id = question.id or _digest("\0".join((*who, question.text, question.background)))
        while (asked := self._asked.get(id)) is not None and self._is_over(asked):
            id = _digest(id)  # Another question than that one: an answer to that is late.
        asked = asked or await self._opened(id, question)
        with self._awaited(asked):
            if not asked.is_sent:
                await self._send(asked, question, context)
            return await self._answer(asked, is_kept=bool(context.turn))

    def receive(self, message: AclMessage) -> bool:
        if message.ontology != CHAT_TEXT:
            return False
        before = self._clock() - ANSWER_RETENTION_S
        old = [one for one in self._asked.values() if one.row.expires_at < before]
        surplus = list(self._asked.values())[: max(len(self._asked) - MAX_KNOWN, 0)]
        for asked in {*old, *surplus}:
            self._drop(asked)
        named = [self._asked.get(one) for one in (message.in_reply_to, message.conversation_id)]
        for asked in filter(None, named):
            # By the stamped sender: others may know the thread.
            if asked.row.expert == message.owner:
                self._take(asked, message)
                return True
        is_threaded = message.in_reply_to or (message.conversation_id and not self._is_alone)
        return not is_threaded and _is_chat_text(message) and self._take_unthreaded(message)

    def bounced(self, bounce: Bounce) -> bool:
        """Ignore bounces of questions asked before a restart; OutgoingMessages handles others."""
        return False

    def _listen(self) -> None:
        """Read incoming messages. Before the first question none of them can be an answer."""
        if self not in self._node.askers:
            self._node.askers.append(self)

    async def _opened(self, id: str, question: ExpertQuestion) -> _OpenExpertQuestion:
        expert = bare(question.expert).lower()
        opened = [one for one in self._asked.values() if self._is_open(one)]
        of_expert = sum(one.row.expert == expert for one in opened)
        if len(opened) >= MAX_OPEN or of_expert >= MAX_OPEN_PER_EXPERT:
            reason = f"limit of open questions reached ({of_expert} to {expert}); try again later"
            raise RequestRefused(reason, peer=expert, wire_code="busy")
        row = LoggedExpertQuestion(
            id=id,
            expert=expert,
            question=question.text,
            expires_at=self._clock() + question.seconds,
        )
        # Before the first await: the same question, asked twice at once, is one.
        self._asked[id] = asked = _OpenExpertQuestion(row)
        try:
            # On disk before it is sent: an answer after a restart finds its question.
            await self._log.add(row)
        except BaseException:
            self._asked.pop(id, None)
            raise
        self._listen()
        return asked

    @contextmanager
    def _awaited(self, asked: _OpenExpertQuestion) -> Iterator[None]:
        """Count a waiting call. If the last one is cancelled, the question is withdrawn, except at
        shutdown: a resumed turn asks it again."""
        asked.waiting += 1
        try:
            yield
        except asyncio.CancelledError:
            if asked.waiting == 1 and not self._node.dispatcher.is_closing:
                self._withdraw(asked)
            raise
        finally:
            asked.waiting -= 1

    def _withdraw(self, asked: _OpenExpertQuestion) -> None:
        """Withdraw a question, tell the expert, and release the expert for other questions."""
        if not self._is_open(asked):
            return
        asked.is_withdrawn = asked.is_told = True
        self._log.remove(asked.row.id)
        if asked.is_sent:
            row = asked.row
            text = withdrawn_text(row.question)
            self._run(self._letters.tell(chat_message(row.expert, text, thread=row.id)))

    async def _send(
        self, asked: _OpenExpertQuestion, question: ExpertQuestion, context: CallContext
    ) -> None:
        """Send the question, once for its id, also if it is asked again after a kill."""
        # Before the first await: the same question, asked twice at once, is sent once.
        asked.is_sent = True
        text = expert_question_text(
            question.text, question.background, asker=context.on_behalf_of, seconds=question.seconds
        )
        id = asked.row.id
        metadata = question.metadata_of(id) if question.metadata_of else None
        letter = chat_message(question.expert, text, thread=id, id=id, metadata=metadata)
        expert = asked.row.expert

        def returned(condition: str) -> None:
            reason = f"{expert} cannot be reached: {condition}"
            self._fail(asked, PeerUnavailable(reason, peer=expert))

        try:
            await self._letters.say(letter, on_return=returned)
        except RequestError:
            self._drop(asked)
            raise
        await self._log.sent(id)

    async def _answer(self, asked: _OpenExpertQuestion, *, is_kept: bool) -> str:
        left_s = asked.row.expires_at - self._clock()
        try:
            async with asyncio.timeout(max(left_s, 0.0)):
                # Shielded: this timeout must not cancel the future that other calls wait for.
                answer = await asyncio.shield(asked.answer)
        # RequestTimeout is a TimeoutError, too, and must not be taken for our own.
        except RequestError:
            raise
        except TimeoutError:
            expert = asked.row.expert
            raise RequestTimeout(f"{expert} did not answer in time", peer=expert) from None
        # Outside a turn nothing is resumed, so the answer is not needed again.
        if not is_kept:
            asked.is_taken = True
            self._log.remove(asked.row.id)
        return answer

    def _take(self, asked: _OpenExpertQuestion, message: AclMessage) -> None:
        if not _is_chat_text(message):
            # Partial answers and AGREE messages of an expert's program are ignored.
            is_refusal = message.performative in _REFUSALS and message.sequence is None
            if is_refusal:
                self._fail(asked, RequestRefused(message.content, peer=asked.row.expert))
        elif self._is_open(asked):
            self._settle(asked, message.content)
        else:
            self._say_closed(asked, message)

    def _take_unthreaded(self, message: AclMessage) -> bool:
        """Handle a message without a thread. False: it is no answer."""
        expert = message.owner
        meant = [one for one in self._asked.values() if self._may_be_meant(one, expert)]
        if not any(map(self._is_open, meant)):
            over = [one for one in self._asked.values() if one.row.expert == expert]
            if not (self._is_alone and over):
                return False
            # The expert was asked recently: the answer is late.
            self._say_closed(over[-1], message)
            return True
        if self._is_for_others(message):
            return False
        unclear = self._unclear.pop(expert, None)
        if unclear is not None:
            self._take_number(unclear, message)
        elif len(meant) == 1:
            self._settle(meant[0], message.content)
        else:
            self._ask_which(
                _AmbiguousAnswer(message.content, [one.row.id for one in meant]), message
            )
        return True

    def _take_number(self, unclear: _AmbiguousAnswer, message: AclMessage) -> None:
        number = re.fullmatch(r"\s*#?(\d{1,3})[.):]?\s*", message.content)
        index = int(number[1]) - 1 if number else -1
        asked = self._asked.get(unclear.ids[index]) if 0 <= index < len(unclear.ids) else None
        if asked is not None and not asked.answer.done():
            # The number only chooses: the answer is what was written before.
            self._take(asked, replace(message, content=unclear.text))
            return
        # Text instead of a number belongs to the answer.
        more = "" if number else f"\n{message.content}"
        meant = [one for one in self._asked.values() if self._may_be_meant(one, message.owner)]
        ids = [one.row.id for one in meant]
        text = f"{unclear.text}{more}"[:MAX_ANSWER_CHARS]
        self._ask_which(_AmbiguousAnswer(text, ids, unclear.times), message)

    def _ask_which(self, unclear: _AmbiguousAnswer, message: AclMessage) -> None:
        if unclear.times >= MAX_CHOICES:
            logger.warning("%s did not choose a question; its answer is dropped", message.owner)
            return
        unclear.times += 1
        self._unclear[message.owner] = unclear
        self._say(
            message, disambiguation_text([self._asked[id].row.question for id in unclear.ids])
        )

    def _say_closed(self, asked: _OpenExpertQuestion, message: AclMessage) -> None:
        if not asked.is_told:
            asked.is_told = True
            self._say(message, closed_text(asked.row.question))

    def _settle(self, asked: _OpenExpertQuestion, text: str) -> None:
        answer = text[:MAX_ANSWER_CHARS]
        # Before it is written: the turn goes on, even if the disk refuses.
        asked.answer.set_result(answer)
        self._log.answer(asked.row.id, answer)

    def _fail(self, asked: _OpenExpertQuestion, error: RequestError) -> None:
        if not asked.answer.done():
            asked.answer.set_exception(error)
            asked.answer.exception()  # Seen: perhaps nobody waits any more.
            self._drop(asked)

    def _drop(self, asked: _OpenExpertQuestion) -> None:
        self._asked.pop(asked.row.id, None)
        self._log.remove(asked.row.id)

    def _is_open(self, asked: _OpenExpertQuestion) -> bool:
        return not (asked.answer.done() or self._is_over(asked))

    def _is_over(self, asked: _OpenExpertQuestion) -> bool:
        is_late = not asked.answer.done() and self._clock() >= asked.row.expires_at
        return asked.is_taken or asked.is_withdrawn or is_late

    def _may_be_meant(self, asked: _OpenExpertQuestion, expert: str) -> bool:
        is_theirs = asked.row.expert == expert and not (asked.answer.done() or asked.is_withdrawn)
        return is_theirs and self._clock() < asked.row.expires_at + RECENTLY_CLOSED_S

    def _say(self, to: AclMessage, text: str) -> None:
        """Send a plain text message to the expert."""
        letter = chat_message(to.owner, text, thread=to.conversation_id)
        self._run(self._letters.tell(letter))


_REFUSALS = (Performative.REFUSE, Performative.FAILURE, Performative.NOT_UNDERSTOOD)


def _is_chat_text(message: AclMessage) -> bool:
    is_whole = message.performative in (Performative.REQUEST, Performative.INFORM)
    return is_whole and message.sequence is None and bool(message.content.strip())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:24]


TIMEOUT_RANGE_S = 300.0
EXPERT_MARGIN_S = 10.0
"""Margin of the tool's timeout over the time for an answer, in seconds, so that the expert's
timeout is reported first."""

PARAMETERS = {
    "type": "object",
    "properties": {
        "question": {
            "type": "string",
            "minLength": 1,
            "description": "One whole question: the expert sees nothing of the conversation.",
        },
        "context": {"type": "string", "description": "What the expert must know to answer it."},
    },
    "required": ["question"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expert:
    """Person that a model may ask by a tool."""

    name: str
    """The tool is `ask_NAME`."""
    jid: str
    knows: str = ""
    """Topics that the expert can answer, for the tool's description."""
    seconds: float = TIMEOUT_RANGE_S
    """Time limit for an answer, in seconds."""

    def __post_init__(self) -> None:
        """Raises TypeError or ConfigurationError, naming the field."""
        check_agent_jid(self.jid, of=f"Expert {self.name!r}: jid")


def expert_tool(expert: Expert, experts: ExpertQuestions) -> LLMTool:
    """Tool `ask_NAME` of an expert. Raises ConfigurationError: the name is not valid for a tool, or
    the time limit is not valid."""
    about = f" about {expert.knows}" if expert.knows else ""
    return LLMTool(
        f"ask_{expert.name}",
        f"Ask {expert.name}, a person,{about}. They are asked by chat and may take up to"
        f" {expert.seconds:g} seconds: ask what you cannot find out otherwise.",
        PARAMETERS,
        partial(_ask, expert, experts),
        timeout_s=expert.seconds + EXPERT_MARGIN_S,
        # The turn leaves its slot to others meanwhile, and its time limit stands still.
        asks_others=True,
    )


async def _ask(expert: Expert, experts: ExpertQuestions, question: str, context: str = "") -> str:
    asked = ExpertQuestion(
        expert=expert.jid, text=question, background=context, seconds=expert.seconds
    )
    try:
        return await experts.ask(asked, context=current_context.get())
    except RequestError as error:
        raise ToolFailed(f"{expert.name} gave no answer: {error.detail}") from error


def expert_questions_of(
    agent: XmppAgent,
    letters: OutgoingMessages,
    *,
    is_for_others: Callable[[AclMessage], bool] | None = None,
) -> ExpertQuestions:
    """Create the expert questions of an agent. `is_for_others=None`: nothing else in this agent
    reads chats."""
    return ExpertQuestions(
        agent.node,
        letters,
        ExpertQuestionLog(agent.database_place(EXPERT_TABLES)),
        run=agent.submit,
        is_alone=is_for_others is None,
        is_for_others=is_for_others or (lambda _message: False),
    )


def expert_tools(people: Sequence[Expert], experts: ExpertQuestions) -> tuple[Tool, ...]:
    return tuple(expert_tool(one, experts) for one in people)
