"""Ad-hoc menus (XEP-0050) of an assistant and of the memory agent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.messages import ONTOLOGY
from spade_llm.assistant.chat.service import ChatService, ChatTurnInput
from spade_llm.assistant.commands.command_registry import NOTHING_TO_STOP
from spade_llm.assistant.commands.memory_menu import (
    LABELS,
    MENU_TEXTS,
    MemoryMenu,
    ask_about_learning,
)
from spade_llm.assistant.turn.approval import ApprovalQuestion, ApprovalVerdict, settled_text
from spade_llm.core.text import pluralize
from spade_llm.messaging import CHAT_TEXT, AclMessage, Encoding, Performative, bare, new_id
from spade_llm.xmpp.features.adhoc_commands import AdHocCommands
from spade_llm.xmpp.stanzas.forms import (
    AdHocRequest,
    CommandForm,
    CommandResult,
    DataForm,
    FormField,
    FormFieldKind,
    FormOption,
    MenuCommand,
)

if TYPE_CHECKING:
    from spade_llm.assistant.commands.personal_memory import SubjectMemories
    from spade_llm.assistant.history.conversation_cache import Conversation
    from spade_llm.assistant.turn.llm_behaviour import LLMBehaviour
    from spade_llm.memory.contract import MemoryEntry
    from spade_llm.xmpp.agent import XmppAgent
    from spade_llm.xmpp.stanzas.forms import CommandStep, FormValues

BeginConversation = Callable[[AdHocRequest], Awaitable["CommandStep"]]
StopTurn = Callable[[str, str], Awaitable[bool]]
"""Ends what a bare JID waits for in one thread; whether there was something."""
MAX_QUESTIONS = 10
MAX_CONVERSATIONS = 50
"""Maximum number of a person's conversations offered as choices, newest first."""
_AT_ONCE = ("documents", "tools", "why", "usage", "status", "help")


class AssistantMenu:
    """Ad-hoc menu of an assistant; a MemorySource whose memories are in the memory agent."""

    all = "all yes"

    def __init__(self, behaviour: LLMBehaviour, chat: ChatService, stop: StopTurn) -> None:
        self._behaviour = behaviour
        self._chat = chat
        self._stop = stop
        self._memories = MemoryMenu(self)

    @property
    def lines(self) -> list[MenuCommand]:
        own: dict[str, BeginConversation] = {
            "learn": self._learn,
            "questions": self._questions,
            "stop": self._stop_all,
            **{node: partial(self._at_once, node) for node in _AT_ONCE},
        }
        return [
            MenuCommand(node="new", labels=LABELS["new"], begin=self._new),
            *self._memories.entries,
            *(MenuCommand(node=node, labels=LABELS[node], begin=one) for node, one in own.items()),
        ]

    async def entries(self, peer: str, limit: int) -> Sequence[MemoryEntry]:
        return await self._behaviour.memory_commands.entries(peer, limit)

    async def obey(self, verb: str, argument: str, visit: AdHocRequest) -> str:
        # A menu does not wait in the conversation's queue: a turn that runs there would write again
        # what is deleted.
        if (verb, argument) == ("forget", self.all):
            await self._stop_in_all(bare(visit.jid))
        return await self._obey(f"/{verb} {argument}", visit, self._latest(visit))

    async def _obey(self, text: str, visit: AdHocRequest, conversation: str) -> str:
        said = _turn_input(text, visit, conversation)
        return await self._behaviour.commands.obey(said) or ""

    async def _at_once(self, verb: str, visit: AdHocRequest) -> CommandStep:
        return CommandResult(text=await self.obey(verb, "", visit))

    async def _new(self, visit: AdHocRequest) -> CommandStep:
        """Begin a new conversation. Of several, the person chooses which one starts over."""
        say, known = MENU_TEXTS[visit.language], self._conversations(bare(visit.jid))
        if len(known) <= 1:
            return await self._begin_anew(visit, {"conversation": (self._latest(visit),)})
        options = tuple(
            FormOption(
                value=one.key, label=f"{_thread(one.key) or say.no_name}: {_size(one, visit)}"
            )
            for one in known
        )
        which = FormField(
            name="conversation",
            label=say.which_conversation,
            kind=FormFieldKind.ONE,
            options=options,
            value=known[0].key,
            is_required=True,
        )
        form = DataForm(title=LABELS["new"][visit.language], fields=(which,))
        return CommandForm(form=form, then=partial(self._begin_anew, visit))

    async def _begin_anew(self, visit: AdHocRequest, filled: FormValues) -> CommandStep:
        conversation = filled["conversation"][0]
        await self._stop(bare(visit.jid), _thread(conversation))
        return CommandResult(text=await self._obey("/new", visit, conversation))

    async def _learn(self, visit: AdHocRequest) -> CommandStep:
        return ask_about_learning(self, visit, choices=("status", "on", "off"))

    async def _questions(self, visit: AdHocRequest) -> CommandStep:
        asked = self._chat.questions_of(bare(visit.jid))[:MAX_QUESTIONS]
        return self._asked(visit, asked, "")

    def _asked(
        self, visit: AdHocRequest, questions: Sequence[ApprovalQuestion], said: str
    ) -> CommandStep:
        """Form for one question at a time, so that each is read before it is answered."""
        say = MENU_TEXTS[visit.language]
        if not questions:
            return CommandResult(text=said or say.no_question)
        question, *more = questions
        answer = FormField(
            name="answer",
            label=say.your_answer,
            kind=FormFieldKind.ONE,
            options=(FormOption(value="yes", label=say.yes), FormOption(value="no", label=say.no)),
            is_required=True,
        )
        shown = (*said.splitlines(), say.question, question.tool, *question.arguments)
        form = DataForm(title=question.tool, instructions=shown, fields=(answer,))
        return CommandForm(form=form, then=partial(self._answered, visit, question, more))

    async def _answered(
        self,
        visit: AdHocRequest,
        question: ApprovalQuestion,
        more: Sequence[ApprovalQuestion],
        filled: FormValues,
    ) -> CommandStep:
        verdict = ApprovalVerdict.YES if filled["answer"] == ("yes",) else ApprovalVerdict.NO
        # It may have been answered in the chat, or have expired, while the form was open.
        settled = self._chat.answer_question(question.id, verdict, peer=bare(visit.jid))
        not_open = MENU_TEXTS[visit.language].not_open
        said = settled_text(question, verdict, visit.language) if settled else not_open
        return self._asked(visit, more, said)

    async def _stop_all(self, visit: AdHocRequest) -> CommandStep:
        had_something = await self._stop_in_all(bare(visit.jid))
        return CommandResult(
            text=MENU_TEXTS[visit.language].stopped if had_something else NOTHING_TO_STOP
        )

    async def _stop_in_all(self, peer: str) -> bool:
        threads = {"", *(_thread(one.key) for one in self._conversations(peer))}
        return any(await asyncio.gather(*(self._stop(peer, thread) for thread in threads)))

    def _conversations(self, peer: str) -> list[Conversation]:
        return self._behaviour.conversations.of_peer(peer)[::-1][:MAX_CONVERSATIONS]

    def _latest(self, visit: AdHocRequest) -> str:
        peer = bare(visit.jid)
        known = self._conversations(peer)
        return known[0].key if known else peer


def _thread(key: str) -> str:
    return key.partition("#")[2]


def _size(conversation: Conversation, visit: AdHocRequest) -> str:
    return pluralize(len(conversation.messages), MENU_TEXTS[visit.language].message)


def _turn_input(text: str, visit: AdHocRequest, conversation: str) -> ChatTurnInput:
    """Turn input that simulates a chat message of the visitor in this conversation."""
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
    return ChatTurnInput(
        id=message.reply_with, peer=peer, conversation=conversation, text=text, message=message
    )


AnswerCommand = Callable[[str, str], Awaitable[str]]
"""Callback that answers a text (first) from a bare JID (second)."""
_IN_SPANISH = {
    "memories": "recuerdos",
    "correct": "corregir",
    "forget": "olvidar",
    "export": "exportar",
    "learn": "aprender",
    "help": "ayuda",
}
"""A command's language is its answer's."""
_WORDS = {"all yes": "todo sí", "off": "no"}


class PersonalMemoryMenu:
    """Ad-hoc menu of the memory agent: a MemorySource of the person's own memories."""

    all = "all yes"

    def __init__(self, subjects: SubjectMemories, answer: AnswerCommand) -> None:
        self._subjects = subjects
        self._answer = answer

    @property
    def lines(self) -> list[MenuCommand]:
        return [
            *MemoryMenu(self).entries,
            MenuCommand(node="learn", labels=LABELS["learn"], begin=self._learn),
            MenuCommand(node="help", labels=LABELS["help"], begin=self._help),
        ]

    async def entries(self, peer: str, limit: int) -> Sequence[MemoryEntry]:
        return (await self._subjects.about(peer).list(limit=limit)).entries

    async def obey(self, verb: str, argument: str, visit: AdHocRequest) -> str:
        # Here consent is only shown or withdrawn; it is given to one assistant, in its chat.
        if verb == "learn":
            argument = argument if argument == "off" else ""
        if visit.language == "es":
            verb, argument = _IN_SPANISH[verb], _WORDS.get(argument, argument)
        return await self._answer(f"/{verb} {argument}", bare(visit.jid))

    async def _learn(self, visit: AdHocRequest) -> CommandStep:
        return ask_about_learning(self, visit, choices=("status", "off"))

    async def _help(self, visit: AdHocRequest) -> CommandStep:
        return CommandResult(text=await self.obey("help", "", visit))


STOP_S = 5.0
"""Maximum wait for a stopped turn to end, in seconds, before the command continues."""


def offer_assistant_menu(
    agent: XmppAgent, behaviour: LLMBehaviour, chat: ChatService, *, is_room: Callable[[str], bool]
) -> None:
    """`is_room` takes a bare JID."""

    async def stop(peer: str, thread: str) -> bool:
        stopped = agent.node.dispatcher.stop(peer, thread, (CHAT_TEXT, ONTOLOGY))
        await stopped.has_ended(timeout_s=STOP_S)
        return bool(stopped.requests)

    def may_use(jid: str) -> bool:
        """Check access; a room's own JID may not use the menu: it stands for all occupants."""
        return not is_room(bare(jid)) and agent.admission.admit_request(jid)

    AdHocCommands(agent, AssistantMenu(behaviour, chat, stop).lines, may_use=may_use)


def offer_personal_memory_menu(
    agent: XmppAgent, subjects: SubjectMemories, answer: AnswerCommand
) -> None:
    AdHocCommands(
        agent, PersonalMemoryMenu(subjects, answer).lines, may_use=agent.admission.admit_request
    )
