"""What a person says of themselves in a message, clause by clause. Pure; knows no fact.

Cautious on purpose: English and Spanish, and only what is plainly stated. No questions, nothing
supposed, wished, denied or taken back, nothing in quotation marks or code, no joke, no part in a
game, no text that is to be worked on.
"""

from __future__ import annotations

import re

from spade_llm.memory.learning.fresh import without_quotes
from spade_llm.text.sentences import sentences

MAX_MESSAGE_CHARS = 1500
"""A longer one is more likely pasted than said."""
MAX_CLAUSE_CHARS = 200

_I = re.IGNORECASE

_TASK = re.compile(
    r"\b(?:translat\w+|rewrite|rephrase|paraphrase|proofread|spell-?check|summari[sz]e"
    r"|correct (?:this|the|my)|write (?:a|an|me|the|my)|draft|compose|role-?play\w*"
    r"|pretend\w*|act as|story|lyrics|poem|novel|fictional|my character"
    r"|fix (?:this|the|my) (?:text|sentence|grammar)"
    r"|traduc\w+|reescrib\w+|corrig\w+|corregir|resum\w+|redact\w+"
    r"|escrib(?:e|ir|eme) (?:un|una|el|la)"
    r"|act[uú]a como|cuento|relato|poema|novela|personaje|juego de rol)\b",
    _I,
)
"""A message that gives a text to work on: whose words they are is anybody's guess."""

_NOT_MEANT = re.compile(
    r"\b(?:kidding|joking|just a joke|sarcasm|jk|lol|lmao|ha(?:ha)+|ja(?:ja)+|xd+"
    r"|es broma|bromeando|imagin\w+|hypothetical\w*|that(?:['’]s| is) (?:a lie|false)"
    r"|not true|untrue|it(?:['’]s| is) false|no es (?:verdad|cierto)|es (?:mentira|falso))\b|/s\b"
    r"|^(?:you(?:['’]re| are)|(?:t[uú] )?eres) (?:an? |the |una? |el |la )?(?-i:[A-ZÁÉÍÓÚÑ])"
    r"|^(?:you(?:['’]re| are) (?:now )?|(?:ahora )?(?:t[uú] )?eres )(?:an?|the|una?|el|la)\b"
    r"|^\s*(?:dear|querid[oa]s?|estimad[oa]s?)\s+[^\n]*[,:]\s*$|^(?:subject|from|to|asunto|de|para):",
    re.IGNORECASE | re.MULTILINE,
)
"""A message that is a joke, takes back what it says, gives out parts, or is a letter."""

_OF_OTHERS = re.compile(
    r"\b(?:said|says|wrote|writes|told|according to|dijo|dice[ns]?|dijeron|escribi[oó]|seg[uú]n"
    r"|in (?:this|the|that|my|our|an?) (?:game|story|book|scenario|movie|film|dream|photo|picture"
    r"|example|song|sketch|text|sentence)"
    r"|en (?:est[ea]|ese|esa|el|la|mi|una?) (?:juego|historia|libro|pel[ií]cula|sue[ñn]o|ejemplo"
    r"|canci[oó]n|foto|texto|frase))\b"
    r"|^(?:oh,? (?:great|sure|wonderful|joy|fantastic|perfect|yes)|yeah,? right|sure,)"
    r"|,? (?:claro|seguro)[\s.!…]*$|\b(?:not|no)(?: really| anymore| any more| at all)?[\s.!…)]*$",
    _I,
)
"""Said by another, true in a story only, or meant the other way round."""

_SUPPOSED = re.compile(
    r"\b(?:if|unless|whether|would|could|might|(?-i:may)|maybe|perhaps|probably|possibly"
    r"|suppose\w*|supposing|wish|hopefully|let'?s say|say that|as though"
    r"|used to|in my dream|for example|for instance|e\.g"
    r"|someone|somebody|si|ojal[aá]|quiz[aá]s?|tal vez|a lo mejor"
    r"|probablemente|posiblemente|supon\w+|imag[ií]n\w+"
    r"|como si|podr[ií]a\w*|gustar[ií]a\w*|har[ií]a\w*|ser[ií]a\w*|por ejemplo"
    r"|alguien|antes (?:viv|trabaj)\w+)\b",
    _I,
)
_QUESTION = re.compile(r"[?？¿؟]")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_QUOTATION = re.compile(r"[\"“„«‹][^\"”“»›]*(?:[\"”“»›]|\Z)|(?<!\w)['‘][^'’]*['’](?!\w)")

_OPENER = re.compile(
    r"^(?:(?:hi|hello|hey|hola|buenas|well|so|also|actually|anyway|btw|by the way|okay|ok|oh|fyi"
    r"|plus|please|and|but|bueno|pues|adem[aá]s|por cierto|por favor|vale|y|pero)\b[\s,.!:–—-]*"
    r"|(?:yes|yeah|yep|no|nope|s[ií]|claro|nah|thanks|thank you|gracias)\s*[,.!:–—-]+\s*)+",
    _I,
)
_SPLIT = re.compile(
    r"\s*;\s*|(?:,\s+|,?\s+(?:and|but|so|y|pero|e)\s+)"
    r"(?=(?:no me|i|i'm|i’m|i've|i’ve|my|call me|(?:work|live) (?:at|for|as|in)|speak|study"
    r"|me|mi|mis|vivo|trabajo|prefiero|odio|soy|tengo|hablo|estudio|suelo)\b)",
    _I,
)
_BARE_VERB = re.compile(r"(?:work|live|speak|study)\b", _I)
_FIRST_PERSON = re.compile(r"i\b", _I)


def statements(text: str) -> list[str]:
    """Clauses in the first person that are plainly stated, without what leads in."""
    if len(text) > MAX_MESSAGE_CHARS or _TASK.search(text) or _NOT_MEANT.search(text):
        return []
    return [
        clause
        for sentence in sentences(_own_words(text))
        if not any(one.search(sentence) for one in (_QUESTION, _SUPPOSED, _OF_OTHERS))
        for clause in _clauses(sentence)
        if len(clause) <= MAX_CLAUSE_CHARS
    ]


def _own_words(text: str) -> str:
    """A quotation leaves a mark behind, so that what stands around it does not run together."""
    return _QUOTATION.sub('"', _CODE.sub('"', without_quotes(text)))


def _clauses(sentence: str) -> list[str]:
    parts = [_OPENER.sub("", part).strip() for part in _SPLIT.split(sentence)]
    is_own = bool(_FIRST_PERSON.match(parts[0]))
    return [_with_person(part, is_own) for part in parts if part and '"' not in part]


def _with_person(clause: str, is_own: bool) -> str:
    """`I live in Rome and work at a bank`: both are about the same person."""
    return f"I {clause}" if is_own and _BARE_VERB.match(clause) else clause
