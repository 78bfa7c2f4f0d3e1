"""Embedding worker: computes missing vectors in batches with back-off; reindexing."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Self

from spade_llm.core.errors import Busy, ModelUnavailable, StorageFailed
from spade_llm.memory.database.rows import ID_BYTES, entry_key, from_microseconds
from spade_llm.memory.learning.episodes import EPISODE_DATES, MAX_MESSAGES
from spade_llm.search.memory_query import FACT_TYPES, MemoryFilter, Tier
from spade_llm.search.terms import TERMS_VERSION, encode_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence, Set

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.memory.database.backend import DatabaseMemoryBackend
    from spade_llm.memory.database.connection import SqlValue, Transaction
    from spade_llm.memory.database.index_cache import IndexRanker
    from spade_llm.providers.model import Embedder

    Progress = Callable[[int, int], None]
    """Told how many are done, and of how many."""

logger = logging.getLogger(__name__)

SELECT_NEW = """
    SELECT row FROM vector_wanted WHERE row IN (SELECT value FROM json_each(:keys)) LIMIT :limit
"""
SELECT_OLDEST = "SELECT row FROM vector_wanted ORDER BY row LIMIT :limit"

# origin 3: an episode; role 1: a person.
SELECT_ENTRY = """
    SELECT jid, content, content_hash, subject, sources, surprise,
        CASE WHEN origin = 3 THEN seq END, coalesce(valid_at, created_at), updated_at > created_at
    FROM entry JOIN owner ON owner.number = entry.owner WHERE seq = :seq
"""
SELECT_MESSAGE = """
    SELECT jid, content, content_hash, subject, NULL, 0, CASE WHEN role = 1 THEN episode END, at, 0
    FROM message JOIN owner ON owner.number = message.owner WHERE seq = :seq
"""
SELECT_SEQ_BY_ID = """
    SELECT seq FROM entry WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND id = :id
"""

# The longest ones say most. `> 0`: what the index of episodes holds.
SELECT_EPISODE_MESSAGES = """
    SELECT message.seq * 2 + 1, length(content), data
    FROM message LEFT JOIN vector ON vector.row = message.seq * 2 + 1
    WHERE message.episode = :seq AND message.episode > 0 AND role = 1
    ORDER BY length(content) DESC, message.seq LIMIT :limit
"""

INSERT_MODEL = (
    "INSERT INTO model (name, dimension) VALUES (:model, :dimension) ON CONFLICT DO NOTHING"
)
SELECT_MODEL = "SELECT number, dimension FROM model WHERE name = :model"
COUNT_MISSING_VECTORS = "SELECT count(*) FROM vector_wanted"
SELECT_OTHER_MODELS = "SELECT name FROM model WHERE name <> :model"

# Not of a text that has changed since it was read: that one is wanted anew.
INSERT_VECTOR = """
    INSERT INTO vector (row, model, data) SELECT :key, :number, :data
    FROM {table} WHERE seq = :seq AND content_hash = :content_hash
    ON CONFLICT (row) DO UPDATE SET model = excluded.model, data = excluded.data
"""
INSERT_ENTRY_VECTOR = INSERT_VECTOR.format(table="entry")
INSERT_MESSAGE_VECTOR = INSERT_VECTOR.format(table="message")

SET_SURPRISE = """
    UPDATE entry SET surprise = :surprise, salience = :salience
    WHERE seq = :seq AND content_hash = :content_hash AND surprise IS NULL
"""

# The latest of a person are limited before those of one kind are chosen, so that the scan is
# bounded; those without a subject are chosen from the latest of the owner. `=` where there is a
# subject: SQLite uses the index of subjects for it, and not for `IS`.
SELECT_SALIENCES = """
    SELECT salience FROM (
        SELECT seq, salience, origin, subject FROM entry
        WHERE owner = (SELECT number FROM owner WHERE jid = :owner) AND {about}
        ORDER BY created_at DESC LIMIT :scanned) AS latest
    WHERE salience IS NOT NULL AND (origin = 3) = :is_episode AND seq < :seq
        AND subject IS :subject LIMIT :limit
"""
SELECT_PERSON_SALIENCES = SELECT_SALIENCES.format(about="subject = :subject")
SELECT_OTHER_SALIENCES = SELECT_SALIENCES.format(about="true")

BATCH_ROWS = 32
"""Rows per transaction. The embedder decides how many texts it processes at once."""
QUIET_PERIOD_S = 0.25
"""Quiet period in seconds: vectors are computed after so long without a search or write. A waiting
search needs the cores, and later rows can share the batch."""
MAX_DELAY_S = 2.0
"""Maximum delay in seconds after the first row without a vector, even under load; there is no delay
if a caller waits for vectors."""
MAX_NEW_KEYS = 4096
"""Maximum number of keys of new rows in RAM; the file has all."""
BATCH_TIMEOUT_S = 120.0
MIN_BACKOFF_S = 1.0
MAX_BACKOFF_S = 60.0
BEHIND_AFTER_S = 10.0
"""Age in seconds from which a backlog makes searches degraded."""
KNOWN_NEIGHBOURS = 8
"""Number of nearest entries compared for the surprise; some may be the entry's own sources."""
COMPARED_MESSAGES = 16
"""Maximum number of an episode's messages that are compared for its novelty, the longest ones."""
MIN_COVERED = 0.9
"""Minimum share of an episode's text in messages with vectors, for a vector made of them."""
NOVEL_MESSAGES = 2
"""Number of messages whose mean novelty is that of the episode, the most novel ones: the vector of
an episode is mostly that of the routine in it."""
SCANNED_ENTRIES = 1000
"""Maximum number of a person's latest entries in which the saliences are looked for."""

HAS_OLD_TERMS = "(terms IS NULL OR substr(terms, 4, 1) <> :version)"
"""Condition for rows with missing terms, or terms of an older version (fourth byte)."""

PAGE_ROWS = 500

OLD_ENTRY_TERMS = f"""
    SELECT seq, content, context, tags FROM entry
    WHERE seq > :after AND {HAS_OLD_TERMS} ORDER BY seq LIMIT {PAGE_ROWS}
"""
OLD_MESSAGE_TERMS = f"""
    SELECT seq, content, speaker, NULL FROM message
    WHERE seq > :after AND {HAS_OLD_TERMS} ORDER BY seq LIMIT {PAGE_ROWS}
"""
SET_ENTRY_TERMS = "UPDATE entry SET terms = :terms WHERE seq = :seq"
SET_MESSAGE_TERMS = "UPDATE message SET terms = :terms WHERE seq = :seq"

REQUEST_ALL_VECTORS = (
    "DELETE FROM vector",
    "DELETE FROM model",
    "INSERT INTO vector_wanted SELECT seq * 2 FROM entry WHERE true ON CONFLICT DO NOTHING",
    "INSERT INTO vector_wanted SELECT seq * 2 + 1 FROM message WHERE true ON CONFLICT DO NOTHING",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeMessage:
    """Text that a person said in an episode."""

    key: int
    chars: int
    """Length of its text."""
    data: bytes | None
    """Packed vector; None: not stored yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowToEmbed:
    """A row without a vector."""

    key: int
    owner: str
    content: str
    content_hash: int
    subject: str | None
    sources: tuple[int, ...]
    """Keys of the entries that it was made from."""
    has_surprise: bool
    episode: int | None
    """Number of the episode that it is, or, for a person's message, belongs to."""
    since_us: int
    """Time from which it is true, in microseconds."""
    is_changed: bool = False
    """It was updated, so that an episode may say something else than its messages."""
    messages: tuple[EpisodeMessage, ...] = ()
    """Messages of an episode, the longest first."""

    @property
    def is_episode(self) -> bool:
        return self.episode is not None and self.key == entry_key(self.episode)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedRow:
    """Packed vector of a row, and its novelty (None: its surprise is known)."""

    row: RowToEmbed
    data: bytes
    novelty: float | None


def rows_to_embed(
    transaction: Transaction, new_keys: Sequence[int], *, limit: int, with_oldest: bool
) -> list[RowToEmbed]:
    """Rows without a vector: new ones first, then the oldest, if these are wanted."""
    new = transaction.all(SELECT_NEW, {"keys": json.dumps(new_keys), "limit": limit})
    keys = dict.fromkeys(key for (key,) in new)
    if with_oldest and len(keys) < limit:
        oldest = transaction.all(SELECT_OLDEST, {"limit": limit})
        keys |= dict.fromkeys(key for (key,) in oldest)
    found = (_row_to_embed(transaction, key) for key in list(keys)[:limit])
    return [one for one in found if one is not None]


def save_vectors(
    transaction: Transaction, embedded: Iterable[EmbeddedRow], *, model: str, dimension: int
) -> None:
    """Store vectors and surprises. Raises StorageFailed if the model's dimension has changed."""
    transaction.count(INSERT_MODEL, {"model": model, "dimension": dimension})
    ((number, known),) = transaction.all(SELECT_MODEL, {"model": model})
    if known != dimension:
        raise StorageFailed(
            f"vectors of {model!r} had {known} numbers, and now have {dimension}: reindex"
        )
    for one in embedded:
        which: Mapping[str, SqlValue] = {
            "key": one.row.key,
            "seq": one.row.key >> 1,
            "content_hash": one.row.content_hash,
            "number": number,
            "data": one.data,
        }
        transaction.count(INSERT_MESSAGE_VECTOR if one.row.key & 1 else INSERT_ENTRY_VECTOR, which)
        if one.novelty is not None:
            surprise = _ranked_surprise(transaction, one.row, one.novelty)
            transaction.count(SET_SURPRISE, {**which, **surprise})
        transaction.mark_changed(one.row.owner, [one.row.key])
        transaction.embedded.add(one.row.key)


def other_vector_models(transaction: Transaction, model: str) -> list[str]:
    """Names of other models with vectors in the file."""
    return [name for (name,) in transaction.all(SELECT_OTHER_MODELS, {"model": model})]


class EmbeddingWorker:
    """Background worker for missing vectors. Open it with `async with`, inside the running loop."""

    def __init__(
        self,
        database: DatabaseMemoryBackend,
        embedder: Embedder,
        ranker: IndexRanker,
        *,
        is_alone: bool = True,
    ) -> None:
        """`is_alone`: compute what no process has noted, too; of several replicas, one looks for
        it (maintenance.py, replica_jobs)."""
        self._database, self._embedder, self._ranker = database, embedder, ranker
        self._is_alone = is_alone
        self._new_keys: dict[int, None] = {}
        self._is_woken = asyncio.Event()
        self._has_waiters = asyncio.Event()
        self._written_at = float("-inf")
        self._idle = asyncio.Event()
        self._lock = asyncio.Lock()
        self._behind_since: float | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        # The last run may have left rows without their vectors.
        self._is_woken.set()
        self._task = asyncio.create_task(self._run(), name="memory-embedding")
        self._task.add_done_callback(self._note_end)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    @property
    def is_behind(self) -> bool:
        """Check whether rows have lacked their vectors for long."""
        now = asyncio.get_running_loop().time()
        return self._behind_since is not None and now - self._behind_since > BEHIND_AFTER_S

    def enqueue(self, keys: Set[int]) -> None:
        """Note rows that were written. Cheap."""
        self._idle.clear()
        self._is_woken.set()
        self._written_at = asyncio.get_running_loop().time()
        # What is not remembered is found in vector_wanted, the oldest first.
        if len(self._new_keys) + len(keys) <= MAX_NEW_KEYS:
            self._new_keys.update(dict.fromkeys(keys))

    async def wait_idle(self) -> None:
        """Return once every row has its vector; they are made now. The caller cancels the wait."""
        if not self._idle.is_set():
            self._has_waiters.set()
        await self._idle.wait()

    def _note_end(self, task: asyncio.Task[None]) -> None:
        """Release waiters when the task ends; a failure is a bug and is logged."""
        self._idle.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("the embedding worker stopped because of an error", exc_info=error)

    async def _run(self) -> None:
        pause_s = MIN_BACKOFF_S
        while True:
            await self._is_woken.wait()
            # Kept while attempts fail: it says how long rows have waited.
            self._behind_since = self._behind_since or asyncio.get_running_loop().time()
            try:
                await self._wait_until_quiet()
                await self.catch_up()
                pause_s = MIN_BACKOFF_S
            except (ModelUnavailable, StorageFailed, Busy) as error:
                logger.warning("vectors cannot be computed, retrying in %.0f s: %s", pause_s, error)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, MAX_BACKOFF_S)

    async def _wait_until_quiet(self) -> None:
        """Wait until there was no activity for QUIET_PERIOD_S, at most MAX_DELAY_S, or until a
        caller needs vectors."""
        clock = asyncio.get_running_loop().time
        latest = clock() + MAX_DELAY_S
        while True:
            active_at = max(self._written_at, self._ranker.searched_at)
            until = min(active_at + QUIET_PERIOD_S, latest)
            if until <= clock():
                return
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._has_waiters.wait()
                    return

    async def catch_up(self, progress: Progress | None = None) -> None:
        """Compute all missing vectors; `progress` gets the number done and the total.

        Raises:
            ModelUnavailable, StorageFailed, Busy: some are still missing.
        """
        async with self._lock:
            # Before the work: what is written meanwhile sets it again.
            self._is_woken.clear()
            try:
                await self._embed_all(progress)
            except BaseException:
                self._is_woken.set()
                raise
            self._behind_since = None
            # Else rows came meanwhile, and the waiters wait for them, too.
            if not self._is_woken.is_set():
                self._has_waiters.clear()
                self._idle.set()

    async def _embed_all(self, progress: Progress | None) -> None:
        total = done = 0
        if progress is not None:
            total = await self._database.read(lambda tx: int(tx.all(COUNT_MISSING_VECTORS)[0][0]))
        count = BATCH_ROWS
        # Fewer were all that there were; those that came meanwhile wake the worker again.
        while count == BATCH_ROWS:
            count = await self._embed_batch()
            done += count
            if progress is not None:
                progress(done, max(total, done))

    async def _embed_batch(self) -> int:
        new_keys, self._new_keys = list(self._new_keys), {}
        if not (new_keys or self._is_alone):
            return 0
        left = new_keys
        try:
            rows = await self._database.read(
                lambda tx: rows_to_embed(tx, new_keys, limit=BATCH_ROWS, with_oldest=self._is_alone)
            )
            if rows:
                await self._embed_rows(rows)
            done = {row.key for row in rows}
            left = [key for key in new_keys if key not in done] if len(rows) == BATCH_ROWS else []
        finally:
            self._new_keys = dict.fromkeys(left) | self._new_keys
        return len(rows)

    async def _embed_rows(self, rows: Sequence[RowToEmbed]) -> None:
        vectors = await self._row_vectors(rows)
        embedded = await self._embedded(rows, vectors)
        model, dimension = self._embedder.name, vectors[rows[0].key].shape[0]
        await self._database.write(
            lambda tx: save_vectors(tx, embedded, model=model, dimension=dimension)
        )

    async def _row_vectors(self, rows: Sequence[RowToEmbed]) -> dict[int, NDArray[np.float32]]:
        """Vectors of rows, by key. That of an episode is made of those of its messages, which costs
        nothing and finds it better than its text, of which an embedder reads the first 1000
        characters."""
        texts = [row for row in rows if not row.is_episode or row.is_changed]
        vectors = await self._vectors(texts)
        means = {row.key: _mean_vector(row, vectors) for row in rows if row.key not in vectors}
        vectors |= {key: mean for key, mean in means.items() if mean is not None}
        return vectors | await self._vectors([row for row in rows if row.key not in vectors])

    async def _vectors(self, rows: Sequence[RowToEmbed]) -> dict[int, NDArray[np.float32]]:
        """Vectors of the rows' texts, by key."""
        given = {row.key: self._ranker.given_vector(row.owner, row.content_hash) for row in rows}
        known = {key: vector for key, vector in given.items() if vector is not None}
        rows = [row for row in rows if row.key not in known]
        if not rows:
            return known
        try:
            async with asyncio.timeout(BATCH_TIMEOUT_S):
                vectors = await self._embedder.embed([row.content for row in rows])
        except TimeoutError:
            raise ModelUnavailable(
                f"{self._embedder.name!r} computed no vectors within {BATCH_TIMEOUT_S:g} s"
            ) from None
        return known | dict(zip((row.key for row in rows), vectors, strict=True))

    async def _embedded(
        self, rows: Sequence[RowToEmbed], vectors: Mapping[int, NDArray[np.float32]]
    ) -> list[EmbeddedRow]:
        import numpy as np

        from spade_llm.search.vectors import pack_vectors

        packed = pack_vectors(np.stack([vectors[row.key] for row in rows]))
        return [
            EmbeddedRow(row=row, data=data, novelty=await self._novelty(row, rows, vectors))
            for row, data in zip(rows, packed, strict=True)
        ]

    async def _novelty(
        self,
        row: RowToEmbed,
        batch: Sequence[RowToEmbed],
        vectors: Mapping[int, NDArray[np.float32]],
    ) -> float | None:
        """Novelty of a row: 1 − the highest similarity to the facts that the owner knew about its
        subject before. Episodes do not count: their vectors are near to all that is usual."""
        if row.has_surprise:
            return None
        vector = vectors[row.key]
        if said := [one for _, one in _message_vectors(row, vectors)][:COMPARED_MESSAGES]:
            return await self._episode_novelty(row, said)
        which = MemoryFilter(subject=row.subject, types=FACT_TYPES)
        found = await self._ranker.nearest(row.owner, vector, which=which, limit=KNOWN_NEIGHBOURS)
        # Only earlier rows count as known, and not the entry's own sources.
        before = [cosine for key, cosine in found if key < row.key and key not in row.sources]
        # No index has the entries of the same batch yet.
        in_batch = [
            float(vector @ vectors[other.key])
            for other in batch
            if (other.owner, other.subject) == (row.owner, row.subject)
            and not (other.key & 1 or other.is_episode)
            and other.key < row.key
            and other.key not in row.sources
        ]
        return 1.0 - min(max([0.0, *before, *in_batch]), 1.0)

    async def _episode_novelty(self, row: RowToEmbed, said: Sequence[NDArray[np.float32]]) -> float:
        """Mean novelty of the most novel messages of an episode, compared with what was said before
        it. `said`: their vectors."""
        # The tier of messages.
        which = MemoryFilter(
            subject=row.subject,
            tier=Tier.WORKING,
            created_before=from_microseconds(row.since_us - 1),
        )
        novelties: list[float] = []
        for vector in said:
            found = await self._ranker.nearest(
                row.owner, vector, which=which, limit=1, with_messages=True
            )
            novelties.append(1.0 - min(max([0.0, *(cosine for _, cosine in found)]), 1.0))
        return fmean(sorted(novelties)[-NOVEL_MESSAGES:])


def _message_vectors(
    episode: RowToEmbed, known: Mapping[int, NDArray[np.float32]]
) -> list[tuple[EpisodeMessage, NDArray[np.float32]]]:
    """Messages of an episode that have a vector, stored or `known` by key; the longest first."""
    from spade_llm.search.vectors import unpack_vectors

    found = []
    for message in episode.messages:
        if message.data is not None:
            found.append((message, unpack_vectors([message.data])[0]))
        elif message.key in known:
            found.append((message, known[message.key]))
    return found


def _mean_vector(
    episode: RowToEmbed, known: Mapping[int, NDArray[np.float32]]
) -> NDArray[np.float32] | None:
    """Mean of the vectors of an episode's messages by the length of their texts, of length 1. None:
    too few of them are known yet."""
    import numpy as np

    said = _message_vectors(episode, known)
    total = sum(message.chars for message in episode.messages)
    covered = sum(message.chars for message, _ in said)
    if not covered or covered < MIN_COVERED * total:
        return None
    mean = sum(np.float32(message.chars) * vector for message, vector in said)
    length = float(np.sqrt(np.vecdot(mean, mean)))
    return np.asarray(mean / np.float32(length), np.float32) if length else None


def _ranked_surprise(
    transaction: Transaction, row: RowToEmbed, novelty: float
) -> Mapping[str, SqlValue]:
    """Salience of an entry, and its surprise in the history of its person."""
    # Here, so that a start does not load the rules.
    from spade_llm.memory.learning.novelty import MAX_HISTORY, salience, surprise

    which: Mapping[str, SqlValue] = {
        "owner": row.owner,
        "subject": row.subject,
        "seq": row.key >> 1,
        "is_episode": row.is_episode,
        "scanned": SCANNED_ENTRIES,
        "limit": MAX_HISTORY,
    }
    select = SELECT_OTHER_SALIENCES if row.subject is None else SELECT_PERSON_SALIENCES
    history = [one for (one,) in transaction.all(select, which)]
    text = EPISODE_DATES.sub("", row.content, count=1) if row.is_episode else row.content
    salient = salience(novelty, text, known=len(history))
    return {"salience": salient, "surprise": surprise(salient, history)}


async def rebuild_terms(database: DatabaseMemoryBackend) -> None:
    """Rebuild missing or outdated terms page by page, so that other writes run in between."""
    for find, change in (
        (OLD_ENTRY_TERMS, SET_ENTRY_TERMS),
        (OLD_MESSAGE_TERMS, SET_MESSAGE_TERMS),
    ):
        after: int | None = 0
        while after is not None:
            after = await database.write(
                partial(_rebuild_page, find=find, change=change, after=after)
            )


def request_all_vectors(transaction: Transaction) -> None:
    for statement in REQUEST_ALL_VECTORS:
        transaction.count(statement)


def _row_to_embed(transaction: Transaction, key: int) -> RowToEmbed | None:
    # Row keys: seq * 2 for entries, seq * 2 + 1 for messages.
    row = transaction.first(SELECT_MESSAGE if key & 1 else SELECT_ENTRY, {"seq": key >> 1})
    if row is None:
        return None
    owner, content, content_hash, subject, packed, surprise, episode, since_us, is_changed = row
    # A message belongs to an episode, too, but is none.
    is_episode = episode is not None and not key & 1
    said = {"seq": episode, "limit": MAX_MESSAGES}
    messages = transaction.all(SELECT_EPISODE_MESSAGES, said) if is_episode else ()
    source_ids = [packed[at : at + ID_BYTES] for at in range(0, len(packed or b""), ID_BYTES)]
    return RowToEmbed(
        key=key,
        owner=owner,
        content=content,
        content_hash=content_hash,
        subject=subject,
        sources=tuple(
            entry_key(seq)
            for id in source_ids
            for (seq,) in transaction.all(SELECT_SEQ_BY_ID, {"owner": owner, "id": id})
        ),
        has_surprise=surprise is not None,
        episode=episode,
        since_us=since_us,
        is_changed=bool(is_changed),
        messages=tuple(
            EpisodeMessage(key=key, chars=chars, data=data) for key, chars, data in messages
        ),
    )


def _rebuild_page(transaction: Transaction, *, find: str, change: str, after: int) -> int | None:
    """Rebuild one page; return the number of its last row, None at the end."""
    version = bytes([TERMS_VERSION])
    found = transaction.all(find, {"after": after, "version": version})
    changes = [
        {"seq": seq, "terms": encode_terms(content, context, json.loads(tags) if tags else ())}
        for seq, content, context, tags in found
    ]
    transaction.each(change, changes)
    return int(found[-1][0]) if found else None
