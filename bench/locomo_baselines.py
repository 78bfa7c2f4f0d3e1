"""What is usually done, on the same turns: vectors of `Speaker: text`, and FTS5 with the question's
words, its stop words left out and all inflections alike."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from bench.locomo_score import Answered
from spade_llm.search.terms import ENGLISH_STOP_WORDS

if TYPE_CHECKING:
    from bench.talk import Conversation
    from spade_llm.providers import MiniLmEmbedder

TABLE = "CREATE VIRTUAL TABLE turn USING fts5 (text, tokenize='porter unicode61')"
SEARCH = "SELECT rowid FROM turn WHERE turn MATCH ? ORDER BY bm25(turn) LIMIT ?"


async def by_vectors(
    conversation: Conversation, embedder: MiniLmEmbedder, limit: int
) -> list[Answered]:
    turns, questions = conversation.turns, conversation.questions
    kept = await embedder.embed([f"{turn.speaker}: {turn.text}" for turn in turns])
    asked = await embedder.embed([question.text for question in questions])
    orders = np.argsort(-(asked @ kept.T), axis=1, kind="stable")[:, :limit]
    return [
        Answered(question=question, found=[turns[place].id for place in order])
        for question, order in zip(questions, orders.tolist(), strict=True)
    ]


def by_fts5(conversation: Conversation, limit: int) -> list[Answered]:
    turns = conversation.turns
    with closing(sqlite3.connect(":memory:")) as file:
        file.execute(TABLE)
        texts = [(place, f"{turn.speaker}: {turn.text}") for place, turn in enumerate(turns)]
        file.executemany("INSERT INTO turn (rowid, text) VALUES (?, ?)", texts)
        return [
            Answered(
                question=question,
                found=[
                    turns[row].id
                    for (row,) in file.execute(SEARCH, (any_word(question.text), limit))
                ],
            )
            for question in conversation.questions
        ]


def any_word(text: str) -> str:
    """A query of FTS5 for what has one of its words, or more."""
    words = re.findall(r"\w+", text)
    telling = [word for word in words if word.lower() not in ENGLISH_STOP_WORDS]
    return " OR ".join(f'"{word}"' for word in telling or words)
