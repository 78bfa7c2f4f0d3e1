"""Conversations with questions, read from LoCoMo's files. Knows no memory and no figures.

A file holds one conversation or a list of them; its turns are at the top or under `conversation`.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bench.talk import Conversation, Question, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

TURN_S = 30.0
"""Between two turns: the files date only where a session begins."""
DATE = "%I:%M %p on %d %B, %Y"
EVIDENCE = re.compile(r"D:?0*(\d+):0*(\d+)")
"""Several in one string, a colon too many, zeros in front: all are there."""


def read_folder(folder: Path, *, limit: int | None = None) -> list[Conversation]:
    """At most `limit` conversations."""
    found = [one for path in sorted(folder.glob("*.json")) for one in _read_file(path)]
    return found[:limit]


def _read_file(path: Path) -> Iterator[Conversation]:
    read = json.loads(path.read_text(encoding="utf-8"))
    samples = read if isinstance(read, list) else [read]
    for number, sample in enumerate(samples):
        yield _conversation(f"{path.stem}-{number}" if len(samples) > 1 else path.stem, sample)


def _conversation(name: str, sample: Mapping[str, object]) -> Conversation:
    inner = sample.get("conversation", sample)
    assert isinstance(inner, dict)
    turns = tuple(_turns(name, inner))
    ids = {turn.id for turn in turns}
    asked = sample["qa"]
    assert isinstance(asked, list)
    questions = (_question(name, one, ids) for one in asked)
    return Conversation(
        name=name, turns=turns, questions=tuple(one for one in questions if one.evidence)
    )


def _turns(name: str, sample: Mapping[str, object]) -> Iterator[Turn]:
    numbers = sorted(int(key[8:]) for key in sample if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        said, began = sample[f"session_{number}"], str(sample[f"session_{number}_date_time"])
        assert isinstance(said, list)
        start = datetime.strptime(began, DATE).replace(tzinfo=UTC)
        for place, turn in enumerate(said):
            yield _turn(name, turn, start + timedelta(seconds=TURN_S * place))


def _turn(name: str, turn: Mapping[str, str], at: datetime) -> Turn:
    caption = turn.get("blip_caption")
    text = f"{turn['text']} [shares {caption}]" if caption else turn["text"]
    id = _repaired(name, turn["dia_id"])[0]
    return Turn(id=id, session=name, speaker=turn["speaker"], text=text, at=at)


def _question(name: str, asked: Mapping[str, object], ids: set[str]) -> Question:
    evidence = asked.get("evidence") or []
    assert isinstance(evidence, list)
    named = [id for text in evidence for id in _repaired(name, str(text))]
    return Question(
        text=str(asked["question"]),
        category=str(asked["category"]),
        evidence=frozenset(named) & ids,
    )


def _repaired(name: str, text: str) -> list[str]:
    return [f"{name}/D{session}:{turn}" for session, turn in EVIDENCE.findall(text)]
