"""Questions to people: whose answer counts, to which question, and what survives."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from spade_llm.assistant.delegation.expert_question_log import ExpertQuestionLog
from spade_llm.assistant.delegation.expert_questions import (
    MAX_CHOICES,
    MAX_OPEN_PER_EXPERT,
    ExpertQuestion,
    ExpertQuestions,
)
from spade_llm.core.errors import PeerUnavailable, RequestRefused, RequestTimeout
from spade_llm.messaging import (
    AclMessage,
    Encoding,
    InMemoryNetwork,
    Performative,
    PersistentAnswerLog,
)
from spade_llm.messaging.outgoing_messages import OutgoingMessages, chat_message
from spade_llm.tools.toolbox import CallContext
from tests.messaging.node_harness import Member
from tests.messaging.scripted_peer import Program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine
    from pathlib import Path

PATIENCE_S = 5.0
ADA = CallContext(on_behalf_of="ada@net", turn="turn-1")


@dataclass
class Office:
    """An agent that asks, and eve, who is asked. `now` is everybody's clock."""

    network: InMemoryNetwork
    directory: Path
    eve: Program = field(init=False)
    now: float = 1000.0
    errands: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.eve = Program(network=self.network, jid="eve@net/phone")

    async def begin(self, *, is_alone: bool = False) -> None:
        """A process begins; the one before it was killed."""
        self.network.leave("agent@net/1")
        self.log = await PersistentAnswerLog(self.directory / "answers.db").__aenter__()
        self.agent = Member(network=self.network, jid="agent@net/1", log=self.log)
        letters = OutgoingMessages(self.agent.node)
        self.experts = await ExpertQuestions(
            self.agent.node,
            letters,
            ExpertQuestionLog(self.directory / "experts.db"),
            run=self.run,
            is_alone=is_alone,
            is_for_others=lambda message: message.content.startswith("/"),
            clock=lambda: self.now,
        ).__aenter__()

    async def end(self) -> None:
        await self.agent.node.close(patience_s=0)
        await self.experts.__aexit__()
        await self.log.__aexit__()

    def run(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self.errands.add(task)
        task.add_done_callback(self.errands.discard)

    def ask(
        self, text: str, *, context: CallContext = ADA, seconds: float = 60.0
    ) -> asyncio.Task[str]:
        question = ExpertQuestion(expert="eve@net", text=text, seconds=seconds)
        return asyncio.create_task(self.experts.ask(question, context=context))

    async def told(self, count: int) -> AclMessage:
        """What eve got last, once it is so many messages."""
        received = await self.eve.got(count)
        assert len(received) == count
        return received[-1]

    async def eve_says(self, text: str, *, thread: str = "") -> None:
        await self.eve.transport.send(chat_message("agent@net", text, thread=thread))


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    office = Office(InMemoryNetwork(), tmp_path)
    await office.begin()
    yield office
    await office.end()


async def unread(office: Office, count: int) -> list[str]:
    """What became a message like any other."""
    return [one.content for one in await office.agent.got(count)]


async def test_the_expert_is_asked_in_plain_words_and_answers_without_a_thread(
    office: Office,
) -> None:
    waiting = office.ask("What is the code?\nAnswer this message with yes.")
    question = await office.told(1)
    await office.eve_says("4711")

    assert await waiting == "4711"
    assert question.content == (
        "A question for you, on behalf of ada@net:\n> What is the code?\n"
        "> Answer this message with yes.\nPlease answer this message within 60 seconds."
    )
    assert question.extra == {}


async def test_answers_in_threads_and_replies_come_in_any_order(office: Office) -> None:
    first, second = office.ask("one?"), office.ask("two?")
    await office.told(2)
    one, two = sorted(office.eve.received, key=lambda message: message.content)

    await office.eve.answer(two, "second", in_thread=False)
    await office.eve.answer(one, "first")

    assert (await first, await second) == ("first", "second")


async def test_an_answer_that_may_mean_several_is_asked_about_by_number(office: Office) -> None:
    first, second = office.ask("one?"), office.ask("two?")
    await office.told(2)

    await office.eve_says("blue")
    which = await office.told(3)
    await office.eve_says("2")
    assert await second == "blue"
    await office.eve_says("red")

    assert await first == "red"
    assert which.content.splitlines()[1:] == ["1: one?", "2: two?"]


async def test_a_reply_without_a_number_is_part_of_the_answer_and_is_bounded(
    office: Office,
) -> None:
    waiting = [office.ask("one?"), office.ask("two?")]
    await office.told(2)

    for count in range(MAX_CHOICES):
        await office.eve_says(f"line {count}")
        await office.told(3 + count)
    await office.eve_says("1")

    assert await waiting[0] == "line 0\nline 1\nline 2"
    waiting[1].cancel()


async def test_only_the_expert_can_answer_even_within_the_thread(office: Office) -> None:
    mallory = Program(network=office.network, jid="mallory@net/1")
    waiting = office.ask("one?")
    question = await office.told(1)

    await mallory.answer(question, "wrong")
    await mallory.answer(question, "wrong", in_thread=False)
    await mallory.transport.send(chat_message("agent@net", "wrong"))
    await unread(office, 3)
    await office.eve_says("right")

    assert await waiting == "right"


async def test_a_command_and_another_thread_are_no_answers(office: Office) -> None:
    waiting = office.ask("one?")
    await office.told(1)

    await office.eve_says("/help")
    await office.eve_says("what is the weather?", thread="my own")
    await office.eve_says("right")

    assert await waiting == "right"
    assert await unread(office, 3) == ["/help", "what is the weather?", "right"]


async def test_a_program_request_of_an_expert_is_not_an_answer(office: Office) -> None:
    waiting = office.ask("one?")
    await office.told(1)

    asks = replace(chat_message("agent@net", "{}"), ontology="test/1", encoding=Encoding.ACL)
    await office.eve.transport.send(asks)
    await office.told(2)
    await office.eve_says("right")

    assert await waiting == "right"
    assert office.eve.received[1].performative is Performative.NOT_UNDERSTOOD


async def test_a_late_answer_is_told_so_once(office: Office) -> None:
    with pytest.raises(RequestTimeout):
        await office.ask("one?", seconds=0.0)
    question = await office.told(1)

    await office.eve.answer(question, "late")
    await office.eve.answer(question, "later")
    note = await office.told(2)
    await office.eve_says("hello")
    await unread(office, 3)

    assert note.content.startswith("Thank you, but this question is not open any more:\n> one?")
    assert len(office.eve.received) == 2


async def test_an_unnamed_answer_right_after_a_question_has_expired_may_mean_that_one(
    office: Office,
) -> None:
    with pytest.raises(RequestTimeout):
        await office.ask("one?", seconds=0.0)
    waiting = office.ask("two?")
    await office.told(2)

    await office.eve_says("blue")
    await office.told(3)
    await office.eve_says("2")

    assert await waiting == "blue"


async def test_the_same_question_of_one_turn_is_sent_once(office: Office) -> None:
    waiting = [office.ask("one?"), office.ask("one?")]
    await office.told(1)
    await office.eve_says("right")

    assert [await one for one in waiting] == ["right", "right"]
    assert await office.ask("one?") == "right"
    assert len(office.eve.received) == 1


async def test_questions_outside_of_a_turn_are_not_deduplicated(office: Office) -> None:
    nobody = CallContext()
    first = office.ask("one?", context=nobody)
    await office.told(1)
    await office.eve_says("right")
    assert await first == "right"

    second = office.ask("one?", context=nobody)
    await office.told(2)
    await office.eve_says("right again")

    assert await second == "right again"


async def test_after_a_kill_the_question_is_not_sent_again_and_its_answer_counts(
    office: Office,
) -> None:
    killed = office.ask("one?")
    question = await office.told(1)
    await office.agent.node.close(patience_s=0)  # An agent that ends withdraws nothing.
    killed.cancel()
    await office.begin()

    again = office.ask("one?")
    await office.eve.answer(question, "right")

    assert await again == "right"
    assert len(office.eve.received) == 1


async def test_an_answer_that_comes_before_the_turn_is_taken_up_again_waits_for_it(
    office: Office,
) -> None:
    killed = office.ask("one?")
    question = await office.told(1)
    await office.agent.node.close(patience_s=0)  # An agent that ends withdraws nothing.
    killed.cancel()
    await office.begin()

    await office.eve.answer(question, "right")
    await unread(office, 1)
    await office.begin()

    assert await office.ask("one?") == "right"
    assert len(office.eve.received) == 1


async def test_questions_beyond_the_bound_are_refused_at_once(office: Office) -> None:
    waiting = [office.ask(f"{number}?") for number in range(MAX_OPEN_PER_EXPERT)]
    await office.told(MAX_OPEN_PER_EXPERT)

    with pytest.raises(RequestRefused, match="open"):
        await office.ask("one more?")

    for one in waiting:
        one.cancel()


async def test_an_expert_that_there_is_not_is_said_at_once(office: Office) -> None:
    office.network.leave(office.eve.jid)

    with pytest.raises(PeerUnavailable):
        await office.ask("one?")


async def test_a_program_that_stands_for_an_expert_may_refuse(office: Office) -> None:
    waiting = office.ask("one?")
    question = await office.told(1)

    refusal = replace(question.reply(Performative.REFUSE, "not my field"), sender="")
    await office.eve.transport.send(refusal)

    with pytest.raises(RequestRefused, match="not my field"):
        await waiting


async def test_an_agent_that_serves_no_chat_takes_any_thread_and_says_what_is_late(
    office: Office,
) -> None:
    await office.begin(is_alone=True)
    waiting = office.ask("one?")
    await office.told(1)
    await office.eve_says("right", thread="my client's own")
    assert await waiting == "right"

    await office.eve_says("and another thing")

    assert "not open any more" in (await office.told(2)).content


async def test_a_question_is_withdrawn_when_its_turn_is_stopped(office: Office) -> None:
    stopped = office.ask("one?")
    await office.told(1)
    stopped.cancel()
    withdrawn = await office.told(2)
    asked = office.ask("two?")
    await office.told(3)

    await office.eve_says("blue")

    assert await asked == "blue"
    assert withdrawn.content == "This question is withdrawn; it needs no answer any more:\n> one?"
    assert withdrawn.conversation_id == office.eve.received[0].conversation_id


async def test_stopped_questions_free_their_capacity(office: Office) -> None:
    waiting = [office.ask(f"{number}?") for number in range(MAX_OPEN_PER_EXPERT)]
    await office.told(MAX_OPEN_PER_EXPERT)
    for one in waiting:
        one.cancel()
    await asyncio.wait(waiting)

    asked = office.ask("one more?")
    await office.told(2 * MAX_OPEN_PER_EXPERT + 1)
    await office.eve_says("yes")

    assert await asked == "yes"


async def test_a_question_stays_open_where_its_agent_ends_and_begins_again(
    office: Office,
) -> None:
    await office.agent.node.close(patience_s=0)
    waiting = office.ask("one?")
    question = await office.told(1)
    waiting.cancel()
    await asyncio.wait([waiting])
    await office.end()
    await office.begin()

    await office.eve.answer(question, "4711")

    assert await office.ask("one?") == "4711"
    assert len(office.eve.received) == 1
