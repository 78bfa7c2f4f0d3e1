"""MiniLM embedder: inference session, batches in a thread, query cache, cached graph.

onnxruntime and tokenizers are imported only when an embedder is loaded.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from spade_llm.core.errors import ConfigurationError, ModelUnavailable
from spade_llm.core.imports import require_extra
from spade_llm.providers.local_embedder.graph import (
    GRAPH_VERSION,
    VECTORS_VERSION,
    build_graph,
    read_float_tensors,
)
from spade_llm.providers.local_embedder.weights import SHA256, TOKENIZER, WEIGHTS, check_file
from spade_llm.providers.model import QueryVectorCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    P = ParamSpec("P")
    T = TypeVar("T")

DIMENSION = 384
INLINE_CHARS = 80
"""Maximum length of a query that is embedded on the caller's thread: it takes 2 ms, and on busy
cores the switch to another thread takes as long again."""
BATCH_NICENESS = 10
"""Niceness of the batch thread: a tenth of a contended core, all of an idle one."""
WINDOW_TEXTS = 32
"""Number of texts that are tokenized, sorted by length and embedded in one call of the thread: each
change of threads costs a quarter of a millisecond."""
MAX_TOKENS = 256
"""Maximum number of tokens per text, as in the published model; the rest is truncated."""
MAX_CHARS = 16_384
"""Maximum characters read per text: 256 tokens are far fewer."""
BATCH_TOKENS = 128
"""Padding included; a longer text is alone. 1024 are no faster (short texts 690 and 632 per s, long
ones 58 and 54), and take 27 MB more."""


class MiniLmEmbedder:
    """An Embedder. Open with `load`, close with `aclose()`.

    Longer queries and batches have a thread each; that of the batches gives way to everything else.
    """

    def __init__(self, session: MiniLmSession, executor: ThreadPoolExecutor) -> None:
        self._session = session
        self._query_executor = executor
        self._batch_executor = ThreadPoolExecutor(
            max_workers=1, thread_name_prefix="minilm-batch", initializer=_lower_priority
        )
        self._queries = QueryVectorCache(self._embed_query)
        self._batch_lock = asyncio.Lock()
        """Lock that lets batches run one at a time."""

    @classmethod
    async def load(cls, weights: Path, *, cache: Path, threads: int = 1) -> MiniLmEmbedder:
        """`weights`: a folder as `find_weights` gives it. The graph is built once, into `cache`.

        One thread: with two on two shared cores a question's vector came later (a turn took 17.7 to
        18.8 ms with one, 21 to 22.7 with two); more pay where nothing else runs. Raises
        ConfigurationError: the weights are not the published ones, or unreadable; or the extra
        `local-embeddings` is missing.
        """
        require_extra("local-embeddings")
        executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="minilm")
        loop = asyncio.get_running_loop()
        try:
            session = await loop.run_in_executor(executor, _open, weights, cache, threads)
        except BaseException:
            executor.shutdown(wait=False)
            raise
        return cls(session, executor)

    @property
    def name(self) -> str:
        return f"all-MiniLM-L6-v2/int8-{VECTORS_VERSION}"

    @property
    def dimension(self) -> int:
        return DIMENSION

    async def __aenter__(self) -> MiniLmEmbedder:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the threads after what they are running."""
        self._session.is_closed = True
        await self._queries.aclose()
        for executor in (self._query_executor, self._batch_executor):
            await asyncio.to_thread(executor.shutdown)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._session.check_open()
        if len(texts) == 1:
            return await self._queries.get(texts[0])
        async with self._batch_lock:
            return await self._queries.embed_missing(texts, self._embed_all)

    async def _embed_query(self, text: str) -> NDArray[np.float32]:
        if len(text) <= INLINE_CHARS:
            self._session.check_open()
            return self._session.embed([text])
        return await self._run(self._query_executor, self._session.embed, [text])

    async def _embed_all(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for start in range(0, len(texts), WINDOW_TEXTS):
            window = texts[start : start + WINDOW_TEXTS]
            part = await self._run(self._batch_executor, self._session.embed, window)
            vectors[start : start + WINDOW_TEXTS] = part
        return vectors

    async def _run(
        self, executor: ThreadPoolExecutor, function: Callable[P, T], *args: P.args, **_: P.kwargs
    ) -> T:
        self._session.check_open()
        return await asyncio.get_running_loop().run_in_executor(executor, function, *args)


def _lower_priority() -> None:
    """Lower the priority of the thread, on Linux only, where threads have their own."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BATCH_NICENESS)


def _open(weights: Path, cache: Path, threads: int) -> MiniLmSession:
    check_file(weights / TOKENIZER)
    graph = cache / f"minilm-int8-{GRAPH_VERSION}-{SHA256[WEIGHTS][:12]}.onnx"
    if not graph.exists():
        check_file(weights / WEIGHTS)
        _write_atomically(graph, build_graph(read_float_tensors(weights / WEIGHTS)))
    return MiniLmSession(graph=graph, tokenizer=weights / TOKENIZER, threads=threads)


def _write_atomically(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # In the same folder, because os.replace works only within one file system.
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
        file.flush()
        # Before the rename: a crash must not leave a partial file under the final name.
        os.fsync(file.fileno())
    os.replace(file.name, path)


Tokens = list[int]


class MiniLmSession:
    """Inference session: the loaded graph and its tokenizer."""

    def __init__(self, *, graph: Path, tokenizer: Path, threads: int) -> None:
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as onnx_errors
        from tokenizers import Tokenizer

        self.is_closed = False
        """Set from another thread: a call ends after the batch that it runs."""
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        # The published tokenizer.json pads and truncates to 128 tokens.
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Spinning threads take the cores from the other agents' processes: 19-36 % slower there.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(
                str(graph), options, providers=["CPUExecutionProvider"]
            )
        except (onnx_errors.Fail, onnx_errors.InvalidProtobuf, onnx_errors.InvalidGraph) as error:
            raise ConfigurationError(
                f"{str(graph)!r} is damaged; delete it, it will be built anew."
            ) from error

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row for each text, in batches. Raises ModelUnavailable: closed meanwhile."""
        encodings = self._tokenizer.encode_batch([text[:MAX_CHARS] for text in texts])
        tokens = [encoding.ids for encoding in encodings]
        vectors = np.empty((len(texts), DIMENSION), np.float32)
        for number, rows in enumerate(self._length_batches(tokens)):
            if number:
                self.check_open()
            vectors[rows] = self._vectors([tokens[row] for row in rows])
        return vectors

    def check_open(self) -> None:
        """Raise ModelUnavailable if it has been closed."""
        if self.is_closed:
            raise ModelUnavailable("The embedder has been closed.")

    def _length_batches(self, tokens: Sequence[Tokens]) -> Iterator[list[int]]:
        """Row numbers, the longest texts first, so that little is padded."""
        order = sorted(range(len(tokens)), key=lambda row: -len(tokens[row]))
        while order:
            size = max(1, BATCH_TOKENS // len(tokens[order[0]]))
            yield order[:size]
            del order[:size]

    def _vectors(self, tokens: Sequence[Tokens]) -> NDArray[np.float32]:
        shape = (len(tokens), max(map(len, tokens)))
        ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, numbers in enumerate(tokens):
            ids[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        feed = {"input_ids": ids, "attention_mask": mask}
        vectors: NDArray[np.float32] = self._session.run(["embedding"], feed)[0]
        return vectors
