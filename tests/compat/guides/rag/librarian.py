"""The RAG guide's first half: documents are loaded, cut, stored, and found for others."""

import os
from pathlib import Path

import spade

from spade_llm import RetrievalAgent
from spade_llm.rag import (
    Chroma,
    DirectoryLoader,
    Document,
    RecursiveCharacterTextSplitter,
    VectorStoreRetriever,
)

SUBJECTS = ["sea", "harbour", "bread", "oven", "mountain"]


async def embed(texts: list[str]) -> list[list[float]]:
    """An embedding model of the program's own: which subjects a text is about."""
    return [[1.0 + 10.0 * text.lower().count(word) for word in SUBJECTS] for text in texts]


def done(query: str, results: list[Document]) -> None:
    print(f"found {len(results)} for {query}", flush=True)


async def main() -> None:
    folder = Path(os.environ["DOCUMENTS"])
    documents = await DirectoryLoader(path=folder, glob_pattern="**/*.md").load()
    chunks = RecursiveCharacterTextSplitter(chunk_size=120, chunk_overlap=20).split_documents(
        documents
    )
    store = Chroma(
        collection_name="guide", embedding_fn=embed, persist_directory=str(folder / "db")
    )
    await store.initialize()
    await store.add_documents(chunks)
    librarian = RetrievalAgent(
        jid="librarian@localhost",
        password="librarian-password",
        retriever=VectorStoreRetriever(vector_store=store),
        default_k=2,
        on_retrieval_complete=done,
    )
    await librarian.start()
    print(f"librarian is ready with {await store.get_document_count()} chunks", flush=True)
    await spade.wait_until_finished(librarian)
    await store.cleanup()


if __name__ == "__main__":
    spade.run(main())
