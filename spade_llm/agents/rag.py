"""RAG agent: serves document ingestion and search to agents."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spade_llm.core.arguments import as_tuple
from spade_llm.core.database_copy import refuse_unfinished_copy
from spade_llm.core.errors import ConfigurationError
from spade_llm.core.job_lease import ExclusiveJobs
from spade_llm.messaging import agent_status
from spade_llm.providers.model import language_model
from spade_llm.rag import DocumentLibrary
from spade_llm.rag.loading.fetcher import FetchedDocuments, Fetcher, FetchLimits
from spade_llm.rag.loading.loader import MAX_BINARY_BYTES
from spade_llm.rag.remote import RagService
from spade_llm.xmpp.agent import AgentOptions, XmppAgent
from spade_llm.xmpp.connection.settings import tls_context
from spade_llm.xmpp.features.uploads import allowed_upload_hosts

if TYPE_CHECKING:
    from spade_llm.providers.model import ChatModel, Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class RagOptions:
    """Optional settings of a RAG agent."""

    namespaces: tuple[str, ...] = ()
    """The only names that documents are taken for; empty: any."""
    chroma_url: str | None = None
    """URL of a Chroma server started with `chroma run`, for the vectors; None: there is none."""
    uses_files: bool = False
    """Documents are in the agent's directory although `options.database` is set."""
    upload_hosts: tuple[str, ...] = ()
    """`HOST:PORT` of what documents are fetched from; empty: our own server's uploads."""
    max_upload_bytes: int = MAX_BINARY_BYTES
    model: ChatModel | None = None
    """Model that writes answers, closed by its creator. None, or rules: the best passages are the
    answer."""


class RAGAgent(XmppAgent):
    """Agent that stores documents and finds passages in them.

    `embedder=None`: keywords only, and every answer says so. `roots`: folders with files that it
    may read on request. `options.data` is required: its documents are stored there.
    """

    def __init__(
        self,
        jid: str,
        password: str,
        *,
        embedder: Embedder | None = None,
        roots: Sequence[Path] = (),
        options: AgentOptions | None = None,
        rag: RagOptions | None = None,
    ) -> None:
        super().__init__(jid, password, options=options)
        options = self.options
        if options.data is None:
            raise ConfigurationError(
                "options.data: the RAG agent needs a data directory: give"
                " options=AgentOptions(data=Path(…), …)"
            )
        as_tuple(roots, of="RAGAgent: roots")
        rag = rag or RagOptions()
        if self.replicas is not None and (rag.uses_files or rag.chroma_url):
            raise ConfigurationError(
                f"{self.jid}: replicas keep documents and vectors in PostgreSQL: remove"
                ' storage.documents = "files" and storage.chroma_url, or run no replicas'
            )
        server = None if rag.uses_files else self._database
        self._files = options.data / "rag" if server is None else None
        self._library = DocumentLibrary(
            (options.home or options.data) / "rag",
            embedder=embedder,
            roots=roots,
            chroma_url=rag.chroma_url,
            server=server,
            is_replica=self.replicas is not None,
        )
        self._jobs: ExclusiveJobs | None = None
        self._embeddings = embedder.name if embedder else "none (keywords only)"
        chroma = f"Chroma at {rag.chroma_url}" if rag.chroma_url else "Chroma"
        self._storage = chroma
        if server is not None:
            self._storage = f"PostgreSQL, {chroma}" if rag.chroma_url else "PostgreSQL"
        self._model = rag.model
        self._upload_hosts = frozenset(rag.upload_hosts)
        self._fetched = FetchedDocuments(
            Fetcher(
                options.data / "fetched",
                self._allowed_hosts,
                context=tls_context(options.connection.ca_path),
                limits=FetchLimits(max_bytes=rag.max_upload_bytes),
            )
        )
        service = RagService(
            self._library, only=rag.namespaces, model=rag.model, fetched=self._fetched
        )
        service.attach(self.node.dispatcher)
        self.announce(kind="rag")
        vectors = "PostgreSQL" if self._storage == "PostgreSQL" else "Chroma"
        facts = {"storage": vectors, "embeddings": embedder.name if embedder else ""}
        agent_status.serve_status(
            self.node.dispatcher,
            kind="rag",
            summary=self._summary,
            facts=facts.copy,
            replicas=self.replicas,
        )

    async def open_resources(self, stack: AsyncExitStack) -> None:
        # With a database, too, whose own record does not name what is in files beside it.
        await refuse_unfinished_copy(None, self._files)
        await stack.enter_async_context(self._library)
        await stack.enter_async_context(self._fetched)
        if self.replicas is not None and self._database is not None:
            self._jobs = ExclusiveJobs(
                self._database,
                "documents",
                self._library.replica_jobs,
                holder=lambda: self._resource,
            )
            await stack.enter_async_context(self._jobs)

    async def _allowed_hosts(self) -> Collection[str]:
        """Hosts that documents may be fetched from; none if our server takes no uploads."""
        # A configured list replaces our own server's uploads, which it must name if wanted.
        if self._upload_hosts:
            return self._upload_hosts
        # At each fetch: a server that was restarted may take uploads at another port.
        return await allowed_upload_hosts(self)

    async def _summary(self) -> str:
        model = language_model(self._model)
        answers = f"with {model.name}" if model else "by passages"
        jobs = f", background jobs at {self._jobs.holder}" if self._jobs else ""
        return f"{self._storage}{jobs}, embeddings {self._embeddings}, answers {answers}"
