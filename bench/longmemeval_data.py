"""Questions with the conversations that they are about, read from LongMemEval's files.

A file is a list of questions, each with a haystack of its own: sessions of a user and an assistant.
Knows no memory and no figures.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from bench.talk import Conversation, Question, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

TURN_S = 30.0
"""Between two turns: the files date only where a session begins."""
DATE = "%Y/%m/%d (%a) %H:%M"
ABSTENTION = "_abs"
"""How the id of a question ends that nothing in its haystack answers."""


class UnreadableFile(Exception):
    """It is not what LongMemEval's files are: which file, which field, and what about it."""


def _dated(text: str) -> str:
    parse_date(text)
    return text


Date = Annotated[str, AfterValidator(_dated)]
Named = Annotated[str, Field(min_length=1)]


class _Read(BaseModel):
    """Other fields are of no interest here."""

    model_config = ConfigDict(frozen=True, strict=True)


class HaystackTurn(_Read):
    role: Literal["user", "assistant"]
    content: str
    has_answer: bool | None = None


class Instance(_Read):
    question_id: Named
    question_type: Named
    question: Named
    answer: str | int | float
    question_date: Date
    haystack_session_ids: list[Named]
    haystack_dates: list[Date]
    haystack_sessions: list[list[HaystackTurn]]
    answer_session_ids: list[Named]

    @property
    def is_abstention(self) -> bool:
        return self.question_id.endswith(ABSTENTION)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        sessions = len(self.haystack_sessions)
        for name in ("haystack_session_ids", "haystack_dates"):
            if len(getattr(self, name)) != sessions:
                raise ValueError(f"{name} has {len(getattr(self, name))} items for {sessions}")
        unknown = set(self.answer_session_ids) - set(self.haystack_session_ids)
        if unknown and not self.is_abstention:
            raise ValueError(f"answer_session_ids names {min(unknown)!r}, which is no session")
        return self


_INSTANCES: TypeAdapter[list[Instance]] = TypeAdapter(list[Instance])


def read_file(path: Path, *, limit: int | None = None) -> list[Conversation]:
    """At most `limit`, of all types alike; without abstentions, which have no evidence to find.

    Raises UnreadableFile.
    """
    asked = [one for one in read_instances(path) if not one.is_abstention]
    return [_conversation(one) for one in _spread(asked, limit)]


def read_instances(path: Path) -> list[Instance]:
    """Raises UnreadableFile."""
    try:
        instances = _INSTANCES.validate_json(path.read_bytes())
    except OSError as error:
        raise UnreadableFile(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        raise UnreadableFile(f"{path}: {_first_of(error)}") from error
    ids = [one.question_id for one in instances]
    if not ids:
        raise UnreadableFile(f"{path}: holds no question")
    for number, id in enumerate(ids):
        if id in ids[:number]:
            raise UnreadableFile(f"{path}: [{number}].question_id: {id!r} is there twice")
    return instances


def parse_date(text: str) -> datetime:
    """`2023/05/30 (Tue) 23:40`; the files name no time zone. Raises ValueError."""
    try:
        return datetime.strptime(text, DATE).replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(f"{text!r} is no date like '2023/05/30 (Tue) 23:40'") from None


def _first_of(error: ValidationError) -> str:
    """Where, and what; nothing of what the file holds there is repeated at length."""
    found = error.errors(include_url=False)[0]
    place = "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in found["loc"])
    return f"{place.lstrip('.')}: {found['msg']}" if place else found["msg"]


def _spread(instances: Sequence[Instance], limit: int | None) -> list[Instance]:
    """One of each type in turn, in the file's order."""
    kinds: dict[str, list[Instance]] = {}
    for one in instances:
        kinds.setdefault(one.question_type, []).append(one)
    turns = max(map(len, kinds.values()), default=0)
    mixed = [kind[turn] for turn in range(turns) for kind in kinds.values() if turn < len(kind)]
    return mixed[:limit]


def _conversation(instance: Instance) -> Conversation:
    """Its sessions by time: some files have them in no order."""
    dates = list(map(parse_date, instance.haystack_dates))
    order = sorted(range(len(dates)), key=lambda place: dates[place])
    turns = tuple(turn for place in order for turn in _turns(instance, place, dates[place]))
    return Conversation(
        name=instance.question_id, turns=turns, questions=tuple(_questions(instance, turns))
    )


def _turns(instance: Instance, place: int, began: datetime) -> Iterator[Turn]:
    """Without empty ones."""
    session = _session(instance, place)
    for number, turn in enumerate(instance.haystack_sessions[place]):
        if turn.content.strip():
            yield Turn(
                id=f"{session}:{number}",
                session=session,
                speaker=None,
                text=turn.content,
                at=began + timedelta(seconds=TURN_S * number),
                role=turn.role,
            )


def _questions(instance: Instance, turns: Sequence[Turn]) -> Iterator[Question]:
    """One; none if nothing says where its answer is."""
    places = range(len(instance.haystack_sessions))
    sessions = {
        _session(instance, place)
        for place in places
        if instance.haystack_session_ids[place] in instance.answer_session_ids
    }
    answering = {
        f"{_session(instance, place)}:{number}"
        for place in places
        for number, turn in enumerate(instance.haystack_sessions[place])
        if turn.has_answer
    }
    if sessions:
        yield Question(
            text=instance.question,
            category=instance.question_type,
            evidence=frozenset(answering & {turn.id for turn in turns}),
            sessions=frozenset(sessions),
            at=parse_date(instance.question_date),
        )


def _session(instance: Instance, place: int) -> str:
    """By its place: an id may be there twice."""
    return f"{instance.question_id}/{place}-{instance.haystack_session_ids[place]}"
