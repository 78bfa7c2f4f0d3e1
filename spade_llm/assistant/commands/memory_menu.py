"""Memory menu: forms to see, correct, forget and export memories; menu texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from spade_llm.assistant.commands.memory import (
    ENGLISH_ITEMS,
    MAX_LINE_CHARS,
    SPANISH_ITEMS,
    numbered_line,
    plain_item,
)
from spade_llm.core.text import load_texts
from spade_llm.messaging import bare
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
    from spade_llm.memory.contract import MemoryEntry
    from spade_llm.xmpp.stanzas.forms import CommandStep, FormValues


@dataclass(frozen=True, slots=True, kw_only=True)
class MenuTexts:
    about_you: str
    words: str
    memory: str
    memories: str
    new_text: str
    correct_how: str
    nothing: str
    forget_how: str
    everything: str
    sure: str
    sure_how: str
    not_done: str
    which_conversation: str
    no_name: str
    message: str
    no_question: str
    question: str
    your_answer: str
    yes: str
    no: str
    not_open: str
    stopped: str
    learning: str
    show: str
    on: str
    off: str


MENU_TEXTS = load_texts(MenuTexts, __file__, "memory_menu.toml")

LABELS = {
    "new": {"en": "New conversation", "es": "Nueva conversación"},
    "memories": {"en": "What is remembered about me", "es": "Lo que se recuerda de mí"},
    "correct": {"en": "Correct a memory", "es": "Corregir un recuerdo"},
    "forget": {"en": "Forget", "es": "Olvidar"},
    "export": {"en": "Export my memories", "es": "Exportar mis recuerdos"},
    "learn": {"en": "Learning from our conversations", "es": "Aprender de las conversaciones"},
    "documents": {"en": "Documents", "es": "Documentos"},
    "tools": {"en": "Tools", "es": "Herramientas"},
    "questions": {"en": "Open questions: yes or no", "es": "Preguntas abiertas: sí o no"},
    "stop": {"en": "Stop what is being answered", "es": "Detener lo que se está respondiendo"},
    "why": {"en": "Why the last answer", "es": "Por qué la última respuesta"},
    "usage": {"en": "What I have used", "es": "Lo que he usado"},
    "status": {"en": "Status", "es": "Estado"},
    "help": {"en": "Help", "es": "Ayuda"},
}


MAX_OFFERED_MEMORIES = 50
"""A person's newest memories; older ones are found by words, or by text."""


class MemorySource(Protocol):
    """Source of the memories about people, with text commands to change them."""

    async def entries(self, peer: str, limit: int) -> Sequence[MemoryEntry]:
        """Newest first. Raises RequestError, ServiceError."""

    async def obey(self, verb: str, argument: str, request: AdHocRequest) -> str:
        """Execute the command `/verb argument`, in the visitor's language."""

    @property
    def all(self) -> str:
        """The argument of `forget` that means everything, and asks no more."""


class MemoryMenu:
    """Ad-hoc menu (XEP-0050) of memories about the person."""

    def __init__(self, source: MemorySource) -> None:
        self._source = source

    @property
    def entries(self) -> list[MenuCommand]:
        begin = {
            "memories": self._list,
            "correct": self._correct,
            "forget": self._forget,
            "export": self._export,
        }
        return [
            MenuCommand(node=node, labels=LABELS[node], begin=one) for node, one in begin.items()
        ]

    async def _list(self, request: AdHocRequest) -> CommandStep:
        texts = MENU_TEXTS[request.language]
        form = DataForm(title=texts.about_you, fields=(FormField(name="words", label=texts.words),))
        return CommandForm(form=form, then=partial(self._listed, request))

    async def _listed(self, request: AdHocRequest, filled: FormValues) -> CommandStep:
        return CommandResult(
            text=await self._source.obey("memories", "".join(filled["words"]), request)
        )

    async def _correct(self, request: AdHocRequest) -> CommandStep:
        texts, entries = await self._of(request)
        if not entries:
            return CommandResult(text=texts.nothing)
        which = _choice(entries, FormFieldKind.ONE, texts.memory, request, is_required=True)
        form = DataForm(title=texts.about_you, fields=(which,))
        return CommandForm(form=form, then=partial(self._correct_this, request, entries))

    async def _correct_this(
        self, request: AdHocRequest, entries: Sequence[MemoryEntry], filled: FormValues
    ) -> CommandStep:
        texts = MENU_TEXTS[request.language]
        entry = _chosen(entries, filled["memory"])[0]
        text = FormField(
            name="text",
            label=texts.new_text,
            kind=FormFieldKind.LINES,
            value=entry.content,
            is_required=True,
        )
        form = DataForm(
            title=_label(entry, request), instructions=(texts.correct_how,), fields=(text,)
        )
        return CommandForm(form=form, then=partial(self._corrected, request, entry.id))

    async def _corrected(self, request: AdHocRequest, id: str, filled: FormValues) -> CommandStep:
        argument = f"{id} {''.join(filled['text'])}"
        return CommandResult(text=await self._source.obey("correct", argument, request))

    async def _forget(self, request: AdHocRequest) -> CommandStep:
        texts, entries = await self._of(request)
        everything = FormField(
            name="all", label=texts.everything, kind=FormFieldKind.YES_NO, value="0"
        )
        some = [_choice(entries, FormFieldKind.SEVERAL, texts.memories, request)] if entries else []
        form = DataForm(
            title=texts.about_you, instructions=(texts.forget_how,), fields=(*some, everything)
        )
        return CommandForm(form=form, then=partial(self._forget_these, request, entries))

    async def _forget_these(
        self, request: AdHocRequest, entries: Sequence[MemoryEntry], filled: FormValues
    ) -> CommandStep:
        texts = MENU_TEXTS[request.language]
        if filled["all"]:
            sure = FormField(name="sure", label=texts.sure, kind=FormFieldKind.YES_NO, value="0")
            form = DataForm(title=texts.everything, instructions=(texts.sure_how,), fields=(sure,))
            return CommandForm(form=form, then=partial(self._forget_all, request))
        chosen = _chosen(entries, filled.get("memory", ()))
        said = [await self._source.obey("forget", one.id, request) for one in chosen]
        # Several deletions give the same sentence, which is said once.
        return CommandResult(text="\n".join(dict.fromkeys(said)) or texts.not_done)

    async def _forget_all(self, request: AdHocRequest, filled: FormValues) -> CommandStep:
        if not filled["sure"]:
            return CommandResult(text=MENU_TEXTS[request.language].not_done)
        return CommandResult(text=await self._source.obey("forget", self._source.all, request))

    async def _export(self, request: AdHocRequest) -> CommandStep:
        return CommandResult(text=await self._source.obey("export", "", request))

    async def _of(self, request: AdHocRequest) -> tuple[MenuTexts, Sequence[MemoryEntry]]:
        entries = await self._source.entries(bare(request.jid), MAX_OFFERED_MEMORIES)
        return MENU_TEXTS[request.language], entries


def _choice(
    entries: Sequence[MemoryEntry],
    kind: FormFieldKind,
    label: str,
    request: AdHocRequest,
    *,
    is_required: bool = False,
) -> FormField:
    """Field to choose memories from."""
    # profanity 0.13 shows the values of choices and not their labels, and of a single choice
    # nothing unless something is chosen before.
    options = tuple(
        FormOption(value=numbered_line(one), label=_label(one, request)) for one in entries
    )
    return FormField(
        name="memory",
        label=label,
        kind=kind,
        options=options,
        value=options[0].value if kind is FormFieldKind.ONE else "",
        is_required=is_required,
    )


def _label(entry: MemoryEntry, request: AdHocRequest) -> str:
    texts = SPANISH_ITEMS if request.language == "es" else ENGLISH_ITEMS
    return plain_item(entry, say=texts, max_chars=MAX_LINE_CHARS)


def _chosen(entries: Sequence[MemoryEntry], lines: Sequence[str]) -> list[MemoryEntry]:
    return [one for one in entries if numbered_line(one) in lines]


def ask_about_learning(
    source: MemorySource, request: AdHocRequest, *, choices: Sequence[str]
) -> CommandStep:
    """`choices`: arguments of `learn` that this agent obeys."""
    texts = MENU_TEXTS[request.language]
    labels = {"status": texts.show, "on": texts.on, "off": texts.off}
    what = FormField(
        name="what",
        label=texts.learning,
        kind=FormFieldKind.ONE,
        options=tuple(FormOption(value=one, label=labels[one]) for one in choices),
        value=choices[0],
        is_required=True,
    )
    form = DataForm(title=texts.learning, fields=(what,))
    return CommandForm(form=form, then=partial(_learned, source, request))


async def _learned(source: MemorySource, request: AdHocRequest, filled: FormValues) -> CommandStep:
    return CommandResult(text=await source.obey("learn", "".join(filled["what"]), request))
