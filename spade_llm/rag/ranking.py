"""The chunks of one namespace that may be answered, scored by meaning and words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spade_llm.rag.fusion import by_meaning_and_words
from spade_llm.rag.keywords import best_rows
from spade_llm.rag.passages import Found
from spade_llm.text.row_of import NO_ROW

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from spade_llm.rag.keywords import WordScores
    from spade_llm.rag.near import Near
    from spade_llm.rag.word_index import WordIndex

DECIMALS = 4


class Ranking:
    """Scores of rows; those that only words have found can wait for their cosines."""

    def __init__(
        self,
        index: WordIndex,
        words: WordScores,
        near: Near | None,
        *,
        allowed: NDArray[np.bool_] | None,
        pool: int,
    ) -> None:
        """`near=None`: words alone decide."""
        self.index, self._words, self._near = index, words, near
        self._by_words = words.scores
        self.scores: dict[int, float] = {}
        """Of rows, 0…1."""
        if near is not None:
            self._add_near(near.cosines, allowed)
        rows = best_rows(self._by_words, index.texts, allowed, pool).tolist()
        self._waiting = [row for row in rows if row not in self.scores]
        """Found by words; whether they are near is not known."""
        if near is None or near.is_all:
            self._settle_by_words()

    def promising(self, bar: float, *, has_wordy: bool, limit: int) -> Sequence[int]:
        """Rows that may still come above the bar; the others are out. `has_wordy`: some have no
        vector, so that words alone decide about them."""
        floor = -1.0 if self._near is None else self._near.floor
        self._waiting = [
            row for row in self._waiting if self._ceiling(row, floor, has_wordy) >= bar
        ][:limit]
        return self._waiting

    def settle(self, cosines: Mapping[int, float]) -> None:
        """How near those are that were waiting, by id; the others have no vector."""
        self._add_near(cosines, None)
        self._settle_by_words()

    def found(self) -> Iterator[tuple[int, Found]]:
        """What has a score, with the hash of its text."""
        rows = list(self.scores)
        columns = (self.index.texts, self.index.ids, self.index.documents, self.index.positions)
        numbers = [column[rows].tolist() for column in columns]
        for score, text, number, document, position in zip(
            self.scores.values(), *numbers, strict=True
        ):
            found = Found(id=number, document=document, position=position, score=score)
            yield text, found

    def _settle_by_words(self) -> None:
        for row in self._waiting:
            self.scores.setdefault(row, round(float(self._by_words[row]), DECIMALS))
        self._waiting = []

    def _add_near(self, cosines: Mapping[int, float], allowed: NDArray[np.bool_] | None) -> None:
        rows = self.index.rows_of(list(cosines)).tolist()
        for row, cosine in zip(rows, cosines.values(), strict=True):
            if row != NO_ROW and (allowed is None or allowed[row]):
                self.scores[row] = self._score(row, cosine)

    def _ceiling(self, row: int, floor: float, has_wordy: bool) -> float:
        by_both = self._score(row, floor)
        return max(by_both, float(self._by_words[row])) if has_wordy else by_both

    def _score(self, row: int, cosine: float) -> float:
        share = float(self._words.shares[row])
        return round(by_meaning_and_words(cosine, share), DECIMALS)
