"""Pattern rules: recurring requests, styles and phrases across sessions of a person."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from spade_llm.memory.contract import MemoryDraft, MemoryEntry
from spade_llm.memory.learning.learning_contract import TOPIC_METADATA_KEY, EpisodeWithMessages
from spade_llm.memory.learning.novelty import strip_quotes
from spade_llm.memory.validation import MAX_SOURCES
from spade_llm.search.memory_query import Category, Origin
from spade_llm.search.terms import ENGLISH, STOP_WORDS, stem_hash, strip_accents

SESSION_GAP = timedelta(hours=12)

_I = re.IGNORECASE

LANGUAGES: Mapping[str, str] = {
    "english": "English", "inglés": "English", "ingles": "English",
    "spanish": "Spanish", "español": "Spanish", "espanol": "Spanish", "castellano": "Spanish",
    "french": "French", "francés": "French", "frances": "French",
    "german": "German", "alemán": "German", "aleman": "German",
    "italian": "Italian", "italiano": "Italian",
    "portuguese": "Portuguese", "portugués": "Portuguese", "portugues": "Portuguese",
    "catalan": "Catalan", "catalán": "Catalan", "valenciano": "Valencian",
    "basque": "Basque", "euskera": "Basque", "galician": "Galician", "gallego": "Galician",
    "dutch": "Dutch", "polish": "Polish", "russian": "Russian", "ruso": "Russian",
    "chinese": "Chinese", "chino": "Chinese", "japanese": "Japanese", "japonés": "Japanese",
}  # fmt: skip

_LANGUAGE = "|".join(sorted(LANGUAGES, key=len, reverse=True))

STYLES: Mapping[str, re.Pattern[str]] = {
    "short answers": re.compile(
        r"\b(?:keep it short|be brief|briefly|in (?:a )?few words|in one sentence|in short"
        r"|short(?:er)? (?:answer|version|summary)|sé breve|se breve|brevemente|en pocas palabras"
        r"|en una frase|respuesta corta|más corto)\b",
        _I,
    ),
    "detailed answers": re.compile(
        r"\b(?:in (?:more |full |great )?detail|more details|con (?:más |todo )?detalle"
        r"|más detalles|detalladamente)\b",
        _I,
    ),
    "explanations step by step": re.compile(r"\b(?:step[ -]by[ -]step|paso a paso)\b", _I),
    "examples": re.compile(
        r"\b(?:with (?:an? |some )?examples?|(?:give|show) me (?:an? |some )?examples?"
        r"|for example\?|con (?:un |algún |unos )?ejemplos?"
        r"|(?:dame|ponme) (?:un |unos |algún )?ejemplos?)\b",
        _I,
    ),
    "answers as a list": re.compile(
        r"\b(?:as a list|in a list|bullet points?|bulleted list|en una lista|como lista"
        r"|en forma de lista|con viñetas)\b",
        _I,
    ),
    "answers as a table": re.compile(
        r"\b(?:(?:as|in) a table|en una tabla|como tabla|en forma de tabla)\b", _I
    ),
    "simple words": re.compile(
        r"\b(?:in (?:simple|plain|easy) (?:words|terms|language)|explain it simply"
        r"|en palabras sencillas|en términos sencillos|de forma sencilla)\b",
        _I,
    ),
}
"""Styles that a person may ask for, by their text in `The user often asks for …`."""

ANSWER_IN = re.compile(
    rf"\b(?:answer|reply|respond|speak|write(?: to me)?|responde|contesta|contéstame|respóndeme"
    rf"|escribe|escríbeme|háblame)(?: me)?(?: only)? (?:in|en) ({_LANGUAGE})\b",
    _I,
)

TRANSLATE_INTO = re.compile(
    rf"\b(?:translat\w+|tradu\w+)\b[^.!?\n]{{0,80}}?\b(?:into|to|al|a) ({_LANGUAGE})\b", _I
)

REQUEST_BEGINNING = re.compile(
    r"(?:^|[.!?\n]\s*|\bplease,? |\b(?:can|could|would|will) you(?: please| kindly)? "
    r"|\bi(?:'d| would) like you to |\b(?:i )?need you to |\bhelp me(?: to)? |\bpor favor,? "
    r"|\b(?:puedes|podrías|podrias|me puedes|me podrías) |\bayúdame a |\bnecesito que (?:me )?)",
    _I,
)
"""Phrase before a request, or the beginning of a sentence."""

REQUESTS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(rf"(?:{words})\b", _I)
    for name, words in {
        "translate": r"translate|traduce|traduzcas|traducir(?:me)?|tradúceme",
        "summarise": r"summari[sz]e|sum up|resume|resumir(?:me)?|resumas|resúmeme",
        "correct a text": r"proofread|correct (?:this|the|my)|fix (?:the|my) (?:grammar|spelling)"
        r"|corrige|corregir(?:me)?|corrijas",
        "rewrite a text": r"rewrite|rephrase|paraphrase|reescribe|reescribir|reescribas",
        "explain": r"explain|explica|explicar(?:me)?|expliques|explícame",
        "compare": r"compare|compara|comparar|compares",
        "recommend": r"recommend|suggest|recomienda|recomiéndame|recomendar(?:me)?|sugiere",
        "remind them": r"remind me|recuérdame|recordarme|recuerdes",
        "plan": r"plan (?:my|a|the|our)|make a plan|organi[sz]e|planifica|planificar"
        r"|organiza|organizar",
        "calculate": r"calculate|compute|calcula|calcular|calcules",
        "write": r"write(?: me)?(?: an?| the)|draft|compose|redacta|redactar|escríbeme|redactes",
    }.items()
}
"""`The user often asks to …`; each stands right behind a BEGINNING."""

_COMMON_WORDS = """
able actually already also always another answer anything around ask back because before best
better both bring call cannot change come could day days different does doing done down each easy
else enough even ever every everything example fact find fine first friend friends getting give
given going good got great guess happy hear hello help here home hope hour hours idea just keep
kind know last later least leave left less let life like little long look looking lot made make
making many maybe mean might mind minute minutes moment month months more morning most much must
name need never new next nice night nothing number often okay once only open other part people
person place please point possible pretty probably problem question quite read really right said
same say second see seem send set shall should show since small some someone something soon sorry
start still stop stuff such sure take talk tell text thank thanks then thing things think this
those though thought through time times today together told tomorrow tonight too try trying turn
two understand until use used using very wait want wanted way week weeks well what when where
while whole work working world would write wrong year years yes yesterday yet ahora algo alguien
alguna algunas alguno algunos antes año años aquí así aunque ayer bien bueno buena buenas buenos
cada casa casi claro cosa cosas cuando cuenta dame decir después dice dicho día días donde
entonces estaba estar estoy favor forma fuera gente gracias gusta hace hacer hacia hasta haya
hecho hola hora horas hoy igual luego mañana manera mejor menos mensaje mes meses mientras mismo
momento mucha mucho muchas muchos nada necesito noche nombre nosotros nuestro nueva nuevo nunca
otra otro para parece parte pasa pero persona poco poder porque pregunta primero puede puedes
puedo pues querer quería quiero quizás saber sabes sale semana semanas siempre siguiente sino
sobre sólo solo también tampoco tanto tarde tengo texto tiempo tiene tienes toda todas todavía
todo todos trabajo vale vamos vece veces verdad vida
"""

_DATE_WORDS = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june
july august september october november december lunes martes miércoles jueves viernes sábado
domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
"""

NEGATION = re.compile(
    r"\b(?:not|no|never|don['’]?t|doesn['’]?t|without|stop|instead of|nunca|sin|tampoco"
    r"|en vez de|en lugar de)\b[^.!?\n,;]{0,30}$",
    _I,
)
"""Right before it: the opposite is meant."""

COMMON_WORDS = frozenset(_COMMON_WORDS.split())
"""Words of every conversation: no topic."""

DATE_WORDS = frozenset(_DATE_WORDS.split())

MIN_SESSIONS = 3
MIN_SHARE = 0.2
MAX_PER_KIND = 5
"""The most frequent ones."""
MAX_MESSAGE_CHARS = 1500
"""A longer message is more likely pasted than said: only its begin is looked at, for requests."""
MAX_REQUEST_CHARS = 300
MIN_WORD_CHARS = 4

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NAMES = re.compile(r"(?<![.!?¿¡:\n\"“(])[ ]((?:[A-ZÀ-Ý][\w'’-]+)(?: [A-ZÀ-Ý][\w'’-]+){0,2})")
"""Capitalised inside a sentence."""

_GREETING = re.compile(
    r"\b(?:hi|hello|hey|hola|thanks|thank you|gracias|dear)[ ,]*$", re.IGNORECASE
)
"""Greeting before a name: the name is that of the addressee, not of a topic."""

_APOSTROPHE = re.compile("['’]")

Feature = tuple[str, str]
"""Its kind, and what it is, the same however it was written."""

PATTERN_SENTENCES = {
    "style": "The user often asks for {}.",
    "request": "The user often asks to {}.",
    TOPIC_METADATA_KEY: "The user often talks about {}.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkSession:
    """Conversation session: episodes with only short gaps between them."""

    episodes: tuple[EpisodeWithMessages, ...]

    @property
    def begin(self) -> datetime:
        return began_at(self.episodes[0].episode)

    def user_messages(self) -> list[tuple[str, str]]:
        """User messages of the session: episode id and text."""
        return [
            (one.episode.id, strip_quotes(message.content))
            for one in self.episodes
            for message in one.messages
            if message.role == "user"
        ]


def group_talk_sessions(episodes: Sequence[EpisodeWithMessages]) -> list[TalkSession]:
    """Oldest first."""
    groups: list[list[EpisodeWithMessages]] = []
    latest: dict[str | None, list[EpisodeWithMessages]] = {}
    for one in sorted(episodes, key=lambda one: (began_at(one.episode), one.episode.id)):
        group = latest.get(one.episode.session)
        if group is None or began_at(one.episode) - _ended_at(group[-1]) >= SESSION_GAP:
            group = latest[one.episode.session] = []
            groups.append(group)
        group.append(one)
    return [TalkSession(episodes=tuple(group)) for group in groups]


def began_at(episode: MemoryEntry) -> datetime:
    return episode.valid_at or episode.created_at


@dataclass(slots=True)
class _FeatureSightings:
    """Occurrences of a feature."""

    sessions: dict[int, str] = field(default_factory=dict)
    """First episode with the feature in each session, by the session's index."""
    spellings: Counter[str] = field(default_factory=Counter)


def find_patterns(sessions: Sequence[TalkSession]) -> dict[str, MemoryDraft]:
    """Find patterns by rules. A pattern's name stays the same as long as the pattern exists."""
    seen = _features(sessions)
    needed = max(MIN_SESSIONS, MIN_SHARE * len(sessions))
    often = {one: where for one, where in seen.items() if len(where.sessions) >= needed}
    chosen: dict[str, MemoryDraft] = {}
    for kind in PATTERN_SENTENCES:
        ranked = sorted(
            _without_substrings(kind, often), key=lambda one: (-len(often[one].sessions), one)
        )
        for one in ranked[:MAX_PER_KIND]:
            chosen["\0".join(one)] = _feature_draft(one, often[one], sessions)
    return chosen


def pattern_draft(
    content: str, episodes: dict[int, str], sessions: Sequence[TalkSession], *, kind: str
) -> MemoryDraft:
    """Draft of a pattern. `episodes`: one episode of each session that shows it, by the session's
    index; `kind`: any word."""
    first, last = min(episodes), max(episodes)
    return MemoryDraft(
        content=content,
        category=Category.PATTERN,
        confidence=round(len(episodes) / (len(episodes) + 1), 2),
        origin=Origin.PATTERN,
        sources=tuple(episodes[at] for at in sorted(episodes)[-MAX_SOURCES:]),
        metadata={
            "kind": kind,
            "conversations": len(episodes),
            "of": len(sessions),
            "first": f"{began_at(sessions[first].episodes[0].episode):%Y-%m-%d}",
            "last": f"{began_at(sessions[last].episodes[0].episode):%Y-%m-%d}",
        },
    )


def _ended_at(one: EpisodeWithMessages) -> datetime:
    return max((message.at for message in one.messages), default=began_at(one.episode))


def _features(sessions: Sequence[TalkSession]) -> dict[Feature, _FeatureSightings]:
    seen: dict[Feature, _FeatureSightings] = {}
    for at, session in enumerate(sessions):
        for episode, text in session.user_messages():
            for feature, spelling in _features_of(_CODE.sub(" ", text)):
                where = seen.setdefault(feature, _FeatureSightings())
                where.sessions.setdefault(at, episode)
                where.spellings[spelling] += 1
    return seen


def _features_of(text: str) -> Iterator[tuple[Feature, str]]:
    begin = text[:MAX_REQUEST_CHARS]
    for style in _styles(begin):
        yield ("style", style), style
    for request in _requests(begin):
        yield ("request", request), request
    if len(text) <= MAX_MESSAGE_CHARS:
        for spelling in (*_names(text), *_phrases(text)):
            yield (TOPIC_METADATA_KEY, _phrase_key(spelling)), spelling


def _styles(text: str) -> Iterator[str]:
    for name, pattern in STYLES.items():
        if any(_is_affirmed(text, found) for found in pattern.finditer(text)):
            yield name
    for found in ANSWER_IN.finditer(text):
        if _is_affirmed(text, found):
            yield f"answers in {LANGUAGES[found[1].lower()]}"


def _requests(text: str) -> Iterator[str]:
    for begin in REQUEST_BEGINNING.finditer(text):
        if _is_affirmed(text, begin):
            yield from (name for name, words in REQUESTS.items() if words.match(text, begin.end()))
    for found in TRANSLATE_INTO.finditer(text):
        if _is_affirmed(text, found):
            yield f"translate into {LANGUAGES[found[1].lower()]}"


def _is_affirmed(text: str, found: re.Match[str]) -> bool:
    return NEGATION.search(text[: found.start()]) is None


def _names(text: str) -> Iterator[str]:
    """Names in a text; none if the text is mostly capitals."""
    if sum(map(str.isupper, text)) <= sum(map(str.islower, text)):
        for found in _NAMES.finditer(text):
            is_name = not all(map(_is_common_word, found[1].split()))
            if is_name and not _GREETING.search(text[: found.start()]):
                yield found[1]


def _phrases(text: str) -> Iterator[str]:
    """Two words side by side that both mean something."""
    for clause in re.split(r"[.,;:!?¿¡()\n\"“”]", text.lower()):
        for one, other in pairwise(_WORD.findall(clause)):
            if not (_is_common_word(one) or _is_common_word(other)):
                yield f"{one} {other}"


def _is_common_word(word: str) -> bool:
    folded = _APOSTROPHE.split(word.lower())[0]
    return (
        len(folded) < MIN_WORD_CHARS - word[:1].isupper()
        or folded in COMMON_WORDS
        or folded in DATE_WORDS
        or folded in LANGUAGES
        or strip_accents(folded) in STOP_WORDS
    )


def _phrase_key(spelling: str) -> str:
    """The same for `train ticket` and `Train tickets`."""
    return " ".join(f"{stem_hash(word.lower(), ENGLISH):x}" for word in spelling.split())


def _without_substrings(kind: str, often: dict[Feature, _FeatureSightings]) -> list[Feature]:
    """Drop features that a longer feature includes: `translate` if there is `translate into
    French`."""
    own = [one for one in often if one[0] == kind]
    return [
        one for one in own if not any(_is_substring_pattern(one, other, often) for other in own)
    ]


def _is_substring_pattern(
    one: Feature, other: Feature, often: dict[Feature, _FeatureSightings]
) -> bool:
    words, others = one[1].split(), other[1].split()
    is_within = len(words) < len(others) and set(words) <= set(others)
    return is_within and len(often[other].sessions) * 2 > len(often[one].sessions)


def _feature_draft(
    feature: Feature, where: _FeatureSightings, sessions: Sequence[TalkSession]
) -> MemoryDraft:
    (spelling, _), *_ = sorted(where.spellings.items(), key=lambda one: (-one[1], one[0]))
    content = PATTERN_SENTENCES[feature[0]].format(spelling)
    return pattern_draft(content, where.sessions, sessions, kind=feature[0])
