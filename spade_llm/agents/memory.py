"""Memory agent: serves memories and conversations to agents, and personal memory to people."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from spade_llm.assistant.chat.messages import ChatReply
from spade_llm.assistant.chat.reply_presenter import LongAnswerSender, export_name
from spade_llm.assistant.chat.service import ChatService
from spade_llm.assistant.commands.adhoc_menus import offer_personal_memory_menu
from spade_llm.assistant.commands.memory_passport import PassportCommands
from spade_llm.assistant.commands.personal_memory import (
    PersonalMemoryCommands,
    parse_personal_command,
)
from spade_llm.core.database_copy import refuse_unfinished_copy
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.job_lease import ExclusiveJobs
from spade_llm.memory.database.backend import PostgresMemoryBackend, memory_backend
from spade_llm.memory.database.maintenance import DailyPurge, replica_jobs
from spade_llm.memory.database.schema import MEMORY_TABLES
from spade_llm.memory.database.sqlite_connection import (
    IN_MEMORY,
    MEMORY_FILE,
)
from spade_llm.memory.learning.learner import Learner, LearningSchedule
from spade_llm.memory.remote import MemoryService
from spade_llm.memory.remote_endpoint import ENTRY_SUBJECT
from spade_llm.memory.transfer.passport import KEY_NODE, MAX_PASSPORT_BYTES, PassportKey
from spade_llm.memory.transfer.passport_store import PassportStore, shared_passport_key
from spade_llm.messaging import agent_status
from spade_llm.providers.model import language_model
from spade_llm.rag.loading.fetcher import Fetcher, FetchLimits
from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.connection.settings import tls_context
from spade_llm.xmpp.features.encryption_hint import EncryptionHint
from spade_llm.xmpp.features.pep import PublicKeyNode
from spade_llm.xmpp.features.uploads import allowed_upload_hosts, send_file

if TYPE_CHECKING:
    from spade_llm.assistant.chat.service import ChatTurnInput
    from spade_llm.memory.database.backend import BackendOptions
    from spade_llm.memory.learning.learner import ReflectionLimits
    from spade_llm.providers.model import ChatModel, Embedder

REPLICA_POLL_S = 5.0
"""Interval in seconds in which the learner of replicas looks for new conversations."""
PASSPORT_NAME = "passport.jsonl"
"""Name under which a shared file is stored while it is read, whatever its sender calls it."""


class MemoryAgent(XmppAgent):
    """Agent that stores memories for other agents and people. `embedder=None`: keywords only, and
    every answer says so.

    `learns`: conversations become episodes and facts, with `learning_model` or by rules alone.
    `reflection`: limits of the reflection with that model; None: there is none. `uses_file`: the
    memories are in a file although `options.database` is set.
    """

    def __init__(
        self,
        jid: str,
        password: str,
        *,
        embedder: Embedder | None = None,
        learns: bool = True,
        learning_model: ChatModel | None = None,
        reflection: ReflectionLimits | None = None,
        uses_file: bool = False,
        options: AgentOptions | None = None,
    ) -> None:
        super().__init__(jid, password, options=options)
        data = self.options.data
        home = self.options.home or data
        self._file = home / MEMORY_FILE if home else None
        if self.replicas is not None and uses_file:
            raise ConfigurationError(
                f'{self.jid}: storage.memories = "files" is of one process: remove the key (copy'
                " them with `spade-llm storage move --to database`), or run no replicas"
            )
        backend: BackendOptions = {
            "embedder": embedder,
            "is_learned_from": learns,
            "is_replica": self.replicas is not None,
        }
        file = self._file or Path(IN_MEMORY)
        place = file if self._database is None or uses_file else self._database
        self._backend = memory_backend(place, **backend)
        is_in_server = isinstance(self._backend, PostgresMemoryBackend)
        self._storage = "PostgreSQL" if is_in_server else "SQLite"
        self._embeddings = embedder.name if embedder else "none (keywords only)"
        self._learns = learns
        self._learning_model = learning_model
        self._learner = Learner(
            self._backend.learning(),
            self._backend,
            model=learning_model,
            reflection=reflection,
            # Conversations of other replicas do not wake it.
            schedule=LearningSchedule(poll_interval_s=REPLICA_POLL_S) if self.replicas else None,
        )
        self._jobs: ExclusiveJobs | None = None
        self._own_memories = PersonalMemoryCommands(self._backend)
        service = MemoryService(self._backend, on_observed=self._learner.wake)
        service.attach(self.node.dispatcher)
        self._fetcher: Fetcher | None = None
        if self.replicas is None:
            self._sign_with(PassportKey.load_or_create(data) if data else PassportKey.generate())
        self._sending = LongAnswerSender(
            partial(send_file, self),
            long_answer_chars=0,
            name_of=lambda text: export_name(parse_personal_command(text).verb),
        )
        ChatService(self._answer).attach(self.node.dispatcher)
        EncryptionHint(self)
        offer_personal_memory_menu(self, self._backend, self._answer_text)
        self.announce(kind="memory")
        facts = {"storage": self._storage, "embeddings": embedder.name if embedder else ""}
        agent_status.serve_status(
            self.node.dispatcher,
            kind="memory",
            summary=self._summary,
            facts=facts.copy,
            replicas=self.replicas,
        )

    def _sign_with(self, key: PassportKey) -> None:
        self.passport_key = PublicKeyNode(self, node=KEY_NODE, key=key.public)
        self._passports = PassportCommands(
            PassportStore(self._backend, key, issuer=str(self.jid)),
            send=partial(send_file, self),
            fetch=self._fetch,
            key_of=self.passport_key.key_of,
        )

    async def open_resources(self, stack: AsyncExitStack) -> None:
        if self._file is not None and not isinstance(self._backend, PostgresMemoryBackend):
            # With a database, too, whose own record does not name what is in files beside it.
            await refuse_unfinished_copy(None, self._file.parent, store=MEMORY_TABLES)
        folder = self.options.data or Path(stack.enter_context(TemporaryDirectory()))
        self._fetcher = Fetcher(
            folder / "fetched",
            partial(allowed_upload_hosts, self),
            context=tls_context(self.options.connection.ca_path),
            limits=FetchLimits(max_bytes=MAX_PASSPORT_BYTES),
        )
        await self._fetcher.clear()
        # First in, last out: purge and learner use it until they have ended.
        await stack.enter_async_context(self._backend)
        if isinstance(self._backend, PostgresMemoryBackend) and self._file is not None:
            await self._backend.check_unused_file(self._file)
        learner = self._learner if self._learns else None
        if self.replicas is not None and self._database is not None:
            home = self.options.home or folder
            self._sign_with(await shared_passport_key(self._database, home))
            self._jobs = ExclusiveJobs(
                self._database,
                "memory",
                lambda: replica_jobs(self._backend, learner),
                holder=lambda: self._resource,
            )
            await stack.enter_async_context(self._jobs)
            return
        await stack.enter_async_context(DailyPurge(self._backend))
        if learner is not None:
            await stack.enter_async_context(learner)

    async def _answer(self, turn_input: ChatTurnInput) -> ChatReply:
        return await self._sending.answer(turn_input, self._answer_person)

    async def _answer_person(self, turn_input: ChatTurnInput) -> ChatReply:
        answer = await self._passports.answer(turn_input)
        if answer is None:
            return ChatReply(text=await self._answer_text(turn_input.text, turn_input.peer))
        await self._scrub_answers(turn_input.text, turn_input.peer)
        return ChatReply(text=answer)

    async def _answer_text(self, text: str, peer: str) -> str:
        answer = await self._own_memories.answer(text, subject=peer)
        await self._scrub_answers(text, peer)
        return answer

    async def _scrub_answers(self, text: str, peer: str) -> None:
        # Answers to agents are remembered for repeated requests, and may quote what was changed.
        if parse_personal_command(text).verb in ("correct", "forget", "import", "learn"):
            await self.node.dispatcher.scrub(ENTRY_SUBJECT, [peer])

    async def _fetch(self, url: str) -> bytes:
        """Content of a file on our own server's uploads. Raises ServiceError."""
        if self._fetcher is None:
            raise RuntimeError(f"{self.jid} is not started")
        async with self._fetcher.fetched(url, name=PASSPORT_NAME) as file:
            return await asyncio.to_thread(file.path.read_bytes)

    async def _summary(self) -> str:
        model = language_model(self._learning_model)
        learning = (f"with {model.name}" if model else "by rules") if self._learns else "off"
        jobs = f", background jobs at {self._jobs.holder}" if self._jobs else ""
        return (
            f"{self._storage}{jobs}, search by words and embeddings {self._embeddings}, learning"
            f" {learning}"
        )
