"""An assistant's menu: its text commands, with forms for what they are asked with.

What ends or begins a conversation stops first what runs in it: a menu is used beside the
conversation, not in its order as text is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.acl import CHAT_TEXT, AclMessage, Encoding, Performative, bare, new_id
from spade_llm.behaviour.memory_menus import MemoryMenus, ask_about_learning
from spade_llm.behaviour.menu_texts import LABELS, MENU_TEXTS
from spade_llm.conversation.approval import Verdict, settled_text
from spade_llm.services.chat import Utterance
from spade_llm.services.chat_stop import NOTHING_TO_STOP
from spade_llm.text.counted import counted
from spade_llm.xmpp.menu import Asked, Done, Entry, Field, FieldKind, Form, Option, Visit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spade_llm.behaviour.llm import LLMBehaviour
    from spade_llm.conversation.approval import Question
    from spade_llm.conversation.history import Conversation
    from spade_llm.memory.store import MemoryEntry
    from spade_llm.services.chat import ChatService
    from spade_llm.xmpp.menu import Filled, Step

Begin = Callable[[Visit], Awaitable["Step"]]
Stop = Callable[[str, str], Awaitable[bool]]
"""Ends what a bare JID waits for in one thread; whether there was something."""
MAX_QUESTIONS = 10
MAX_CONVERSATIONS = 50
"""Of one person, newest first, that can be chosen."""
_AT_ONCE = ("documents", "tools", "why", "usage", "status", "help")


class AssistantMenus:
    """Satisfies Shelf: its memories are in the memory agent."""

    all = "all yes"

    def __init__(self, behaviour: LLMBehaviour, chat: ChatService, stop: Stop) -> None:
        self._behaviour = behaviour
        self._chat = chat
        self._stop = stop
        self._memories = MemoryMenus(self)

    @property
    def lines(self) -> list[Entry]:
        own: dict[str, Begin] = {
            "learn": self._learn,
            "questions": self._questions,
            "stop": self._stop_all,
            **{node: partial(self._at_once, node) for node in _AT_ONCE},
        }
        return [
            Entry(node="new", labels=LABELS["new"], begin=self._new),
            *self._memories.entries,
            *(Entry(node=node, labels=LABELS[node], begin=one) for node, one in own.items()),
        ]

    async def entries(self, peer: str, limit: int) -> Sequence[MemoryEntry]:
        return await self._behaviour.memory_commands.entries(peer, limit)

    async def obey(self, verb: str, argument: str, visit: Visit) -> str:
        if (verb, argument) == ("forget", self.all):
            await self._stop_in_all(bare(visit.jid))
        return await self._obey(f"/{verb} {argument}", visit, self._latest(visit))

    async def _obey(self, text: str, visit: Visit, conversation: str) -> str:
        said = _utterance(text, visit, conversation)
        return await self._behaviour.commands.obey(said) or ""

    async def _at_once(self, verb: str, visit: Visit) -> Step:
        return Done(text=await self.obey(verb, "", visit))

    async def _new(self, visit: Visit) -> Step:
        """Where there are several, the person says which."""
        say, known = MENU_TEXTS[visit.language], self._conversations(bare(visit.jid))
        if len(known) <= 1:
            return await self._begin_anew(visit, self._latest(visit))
        options = tuple(
            Option(value=one.key, label=f"{_thread(one.key) or say.no_name}: {_size(one, visit)}")
            for one in known
        )
        which = Field(
            name="conversation",
            label=say.which_conversation,
            kind=FieldKind.ONE,
            options=options,
            value=known[0].key,
            is_required=True,
        )
        form = Form(title=LABELS["new"][visit.language], fields=(which,))
        return Asked(form=form, then=partial(self._begin_this_anew, visit))

    async def _begin_this_anew(self, visit: Visit, filled: Filled) -> Step:
        return await self._begin_anew(visit, filled["conversation"][0])

    async def _begin_anew(self, visit: Visit, conversation: str) -> Step:
        await self._stop(bare(visit.jid), _thread(conversation))
        return Done(text=await self._obey("/new", visit, conversation))

    async def _learn(self, visit: Visit) -> Step:
        return ask_about_learning(self, visit, choices=("status", "on", "off"))

    async def _questions(self, visit: Visit) -> Step:
        asked = self._chat.questions_of(bare(visit.jid))[:MAX_QUESTIONS]
        return self._asked(visit, asked, "")

    def _asked(self, visit: Visit, questions: Sequence[Question], said: str) -> Step:
        """One after another: each is read before it is answered."""
        say = MENU_TEXTS[visit.language]
        if not questions:
            return Done(text=said or say.no_question)
        question, *more = questions
        answer = Field(
            name="answer",
            label=say.your_answer,
            kind=FieldKind.ONE,
            options=(Option(value="yes", label=say.yes), Option(value="no", label=say.no)),
            is_required=True,
        )
        shown = (*said.splitlines(), say.question, question.tool, *question.arguments)
        form = Form(title=question.tool, instructions=shown, fields=(answer,))
        return Asked(form=form, then=partial(self._answered, visit, question, more))

    async def _answered(
        self, visit: Visit, question: Question, more: Sequence[Question], filled: Filled
    ) -> Step:
        verdict = Verdict.YES if filled["answer"] == ("yes",) else Verdict.NO
        settled = self._chat.answer_question(question.id, verdict, peer=bare(visit.jid))
        not_open = MENU_TEXTS[visit.language].not_open
        said = settled_text(question, verdict, visit.language) if settled else not_open
        return self._asked(visit, more, said)

    async def _stop_all(self, visit: Visit) -> Step:
        had_something = await self._stop_in_all(bare(visit.jid))
        return Done(text=MENU_TEXTS[visit.language].stopped if had_something else NOTHING_TO_STOP)

    async def _stop_in_all(self, peer: str) -> bool:
        threads = {"", *(_thread(one.key) for one in self._conversations(peer))}
        return any(await asyncio.gather(*(self._stop(peer, thread) for thread in threads)))

    def _conversations(self, peer: str) -> list[Conversation]:
        return self._behaviour.conversations.of_peer(peer)[::-1][:MAX_CONVERSATIONS]

    def _latest(self, visit: Visit) -> str:
        peer = bare(visit.jid)
        known = self._conversations(peer)
        return known[0].key if known else peer


def _thread(key: str) -> str:
    return key.partition("#")[2]


def _size(conversation: Conversation, visit: Visit) -> str:
    return counted(len(conversation.messages), MENU_TEXTS[visit.language].message)


def _utterance(text: str, visit: Visit, conversation: str) -> Utterance:
    """As if the visitor had written it there."""
    message = AclMessage(
        performative=Performative.REQUEST,
        sender=visit.jid,
        receiver="",
        content=text,
        ontology=CHAT_TEXT,
        encoding=Encoding.PLAIN,
        conversation_id=_thread(conversation),
        reply_with=new_id(),
    )
    peer = bare(visit.jid)
    return Utterance(
        id=message.reply_with, peer=peer, conversation=conversation, text=text, message=message
    )
