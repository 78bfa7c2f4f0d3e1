"""Sentences in plain words: written out, one relative and one fact in each."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from spade_llm.core.text import LazyPattern
from spade_llm.understanding.clause_kinds import EMOJI, FINITE, MAX_STATEMENT_CHARS, THIRD_SPANISH
from spade_llm.understanding.vocabulary import WEEKDAYS, concepts_of, kin, read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_TOLD = 4
"""Maximum number of clauses that say the same of several beings, behind the first."""

_I = re.IGNORECASE


_CONTRACTED = {
    "im": "I'm", "ive": "I've", "hes": "he's", "shes": "she's", "theyre": "they're",
    "theyve": "they've", "weve": "we've", "youre": "you're", "dont": "don't", "doesnt": "doesn't",
    "didnt": "didn't", "cant": "can't", "isnt": "isn't", "arent": "aren't", "wasnt": "wasn't",
    "havent": "haven't", "hasnt": "hasn't", "couldnt": "couldn't", "wouldnt": "wouldn't",
    "shouldnt": "shouldn't", "thats": "that's", "whats": "what's", "wheres": "where's",
    "whos": "who's", "whens": "when's", "hows": "how's", "wont": "won't",
    "pls": "please", "ur": "your", "u": "you", "n": "and", "w": "with",
}  # fmt: skip
_BARE_CONTRACTION = LazyPattern(
    rf"(?<![\w'’@./-])(?<!^)(?-i:n|w)(?= [^\W\d_]{{2}})"
    rf"|(?<![\w'’@./-])(?-i:u)(?![\w'’@./-])"
    rf"|(?<![\w'’@./-])(?:{'|'.join(one for one in _CONTRACTED if len(one) > 1)})(?![\w'’@./-])",
    _I,
)
"""Contractions and short forms of chats; `u` and `n` as capitals are initials."""
_LAUGH_INSIDE = LazyPattern(
    rf"(?P<before>\w{{2}})[!?,]*\s*(?:(?:\s(?:lol|lmao|omg|xd)\b|{EMOJI})\s*)+"
    r"(?=(?:i|i['’]?m|he|he['’]?s|she|she['’]?s|it|they|we|my|our|the|and|but|so|y|pero|ahora|ya"
    r"|me|mi"
    r"|voy|es)\s)",
    _I,
)
"""Pictures and laughs between two sentences without a full stop: `Gary is mad 🙄 he's leaving`."""
_BARE_OWNER = LazyPattern(
    r"\b(?P<noun>mum|mom|mam|dad|nan|nana|gran|grandad|bro|sis|gf|bf|hubby)s"
    r" (?=[^\W\d_])(?!(?:and|are|were|have|both|all|who|or|to|stays|lives)\b)"
    r"|\b(?P<kin>(?:girl|boy)friend|sister|brother|boss|wife|husband|partner|flatmate|roommate"
    r"|neighbour|cat|dog)s (?=called [^\W\d_]+(?:[,.;!]|$))"
    r"|\b(?P<name>(?:his|her|its|my|your|their) (?:\w+ )?name)s (?=\w)"
    r"|\b(?P<thing>(?:the|my|our) (?:\w+ )?(?:rent|bill|wage|salary|pin|code|number|birthday"
    r"|bday|party|train|flight|appointment|appt))s (?=[£$€]?\d)"
    r"|(?:(?<=\A)|(?<=[,;.!] )|(?<=and )|(?<=so )|(?<=but ))its (?=[£$€]?\d|now\b|an?\b)",
    _I,
)
_MOMS = LazyPattern(
    r"(?<![\w'’])moms(?=(?: (?:to|stays|lives|is|was|has|can|will)\b|['’]s\b|[.,!]|$))", _I
)
"""A mother, as she is called in some places: `Moms stays in Chester`."""
_GREETED = LazyPattern(
    r"^yo,? (?=(?:its?|it['’]s|i|im|i['’]m|what|whats|so|my)\b)"
    r"|^(?:hola,? |holi,? )?(?:q|qu[eé]) onda(?! con\b)(?: wey| g[uü]ey| compa)?,? (?=\S)",
    _I,
)
"""Greetings that look like a pronoun, and like a question."""
_RUN_ON = LazyPattern(r"(?<=\bsoy )(?P<name>[^\W\d_]+)(?= tengo [1-9]\d\b)", _I)
"""`Soy Cata tengo 23`: without a comma."""
_BARE_WE = LazyPattern(
    r"(?:(?<=\bso )|(?<=\band )|(?<=\bbut )|(?<=\A))were (?=(?:in|at|on|off|moving|going|getting"
    r"|having|meeting|doing|not)\b)",
    _I,
)
_BARE_WILL = LazyPattern(
    r"(?:(?<=\bso )|(?<=\band )|(?<=\bbut )|(?<=\A))ill (?=(?:be|bring|get|have|do|go|make|call|let"
    r"|see|take|give|tell|ask|try|come|need|pick|send|put|pay|just|probably|never|not)\b)",
    _I,
)
"""A noun of which there is only one, with the `s` of an owner or of `is`: `dads home`."""
_EQUALS = LazyPattern(
    # Looking for the sign first: a long word without one would take the cube of its length.
    r"^(?=[a-z ]{3,60}=)(?P<thing>(?:(?!solve|say|let|if)[a-z]{3,} ){0,2}"
    r"(?!solve|say|let|if)[a-z]{3,}) ?= ?(?=[^\s?])",
    _I | re.MULTILINE,
)
"""A note with a sign for its verb: `supervisor = Dr Hill`."""
_ASIDE = LazyPattern(r",? \b(?:btw|tbh|ngl|by the way|por cierto)\b(?=\s*[,;])", _I)
"""Words inside a sentence that say nothing."""
_PLEASE = LazyPattern(r", (?:please|por favor|porfa|si puedes?|if you can), ", _I)
"""A polite word between a verb and its object: `erase, please, my number`."""


def spelled_out(text: str) -> str:
    """The text with the apostrophes and letters that are left out in chats (`shes`, `dads home`),
    with a full stop instead of a picture or a laugh inside it, and without asides."""
    text = _LAUGH_INSIDE.sub(r"\g<before>. ", text)
    text = _BARE_CONTRACTION.sub(lambda found: _CONTRACTED[found[0].lower()], text)
    text = _RUN_ON.sub(r"\g<name>,", _GREETED.sub("", _MOMS.sub("Mom", text)))
    text = _BARE_WILL.sub("I'll ", _BARE_WE.sub("we're ", text))
    text = _EQUALS.sub(r"\g<thing> is ", text)
    text = _BARE_OWNER.sub(lambda found: f"{found[0].rstrip()[:-1]}'s ", text)
    return _PLEASE.sub(" ", _ASIDE.sub("", text))


def in_plain_words(sentence: str) -> str:
    """The sentence in plain words: without a wish to be reminded and words of pity, and with names
    and medicines that are told behind their verb as they would be told alone."""
    sentence = _PITIED.sub("", _WISH_TO_BE_REMINDED.sub("", sentence))
    for pattern, plain in _paraphrases():
        sentence = pattern.sub(plain, sentence)
    sentence = _NAMED_BEHIND.sub(r"\g<thing> called \g<name>", sentence)
    sentence = _NAMED_BEHIND_ES.sub(_with_name_first, sentence)
    if found := _DIAGNOSED.match(sentence):
        told = found["en"] or found["es"]
        sentence = f"{told[0].upper()}{told[1:]}"
    return _PUT_ON.sub(r"\g<border>I'm on ", sentence)


@cache
def _paraphrases() -> tuple[tuple[LazyPattern, Callable[[re.Match[str]], str]], ...]:
    read = read_table("paraphrases.toml")["paraphrases"]
    return tuple((LazyPattern(one["pattern"], _I), replacement_of(one["plain"])) for one in read)


def replacement_of(plain: str) -> Callable[[re.Match[str]], str]:
    """The replacement of a paraphrase; the groups `word` and `him` are those of the table."""

    def told(found: re.Match[str]) -> str:
        groups = found.groupdict()
        word, him = groups.get("word"), groups.get("him") or ""
        text = found.expand(plain).replace("{he}", "she" if him.lower() == "her" else "he")
        return text.replace(word, word[0].lower() + word[1:], 1) if word else text

    return told


_NAMED = r"(?-i:[A-ZÀ-Þ])[a-zß-ÿ][\w-]*"


def with_relatives(sentence: str) -> str:
    """A list of relatives in sentences about each: `tengo dos hijas: la mayor, Ana, que es médica;
    …` tells that `mi hija mayor, Ana, es médica`."""
    if not (found := _RELATIVES.match(sentence)):
        return sentence
    stem = found["kin"].lower().rstrip("s")[:-1]

    def named(item: re.Match[str]) -> str:
        gender = "a" if item["article"].lower() == "la" else "o"
        return f"; mi {stem}{gender} {item['which']}, {item['name']}, "

    items = _RELATIVE.sub(named, f"; {found['items']}")
    return f"{found['first']}{items}" if items.count("; mi ") > 1 else sentence


_RELATIVES = LazyPattern(
    r"^(?P<first>(?:tengo|tenemos) [^\W\d_]+ (?P<kin>(?:hij|herman|niet|sobrin|prim)[oa]s)): "
    r"(?P<items>.+)$",
    _I,
)
_RELATIVE = LazyPattern(
    r"[,;] (?:y )?(?P<article>el|la) (?P<which>mayor|menor|median[oa]|peque[ñn][oa]|segund[oa]"
    rf"|tercer[oa]), (?P<name>{_NAMED}),? (?:que )?",
    _I,
)


# The beginning of a list of relatives or pets: `I've got two sons`.
_HAVE_SEVERAL = (
    r"(?P<first>(?:i|we)(?:['’]ve(?: got)?| have(?: got)?) (?:two|three|four|five) "
    r"(?:(?P<kin>brother|sister|son|daughter|grandson|granddaughter|cousin|nephew|niece|dog|cat|boy|girl"
    r"|(?:grand)?kid)s|(?P<child>(?:grand)?child)ren))"
)
_HAVE_SEVERAL_ES = (
    r"(?P<first>(?:tengo|tenemos) (?:dos|tres|cuatro|cinco) (?:(?:hij|herman|niet|sobrin|prim)[oa]s"
    r"|(?:perr|gat)[oa]s))"
)
_SIBLINGS = LazyPattern(
    rf"^{_HAVE_SEVERAL}: (?P<items>(?:(?:little|baby) )?{_NAMED}(?:['’]s| {FINITE}) .+)$",
    _I,
)
"""`I've got two brothers: Neil's a vet and Owen works in Hull`."""
_SIBLING = LazyPattern(
    rf"(?:^|,? and |[,;] )(?:(?:little|(?:our |the )?baby) )?(?P<name>{_NAMED})"
    rf"(?=(?:['’]s| {FINITE}) )",
    _I,
)
_SIBLINGS_ES = LazyPattern(
    rf"^{_HAVE_SEVERAL_ES}: (?P<items>{_NAMED}(?:,? que|,?) {THIRD_SPANISH} .+)$",
    _I,
)
_SIBLING_ES = LazyPattern(
    rf"(?:^|,? y |[,;] )(?P<name>{_NAMED})(?:,? que|,?)(?= {THIRD_SPANISH} )", _I
)
_AGE = r",? (?:(?:who(?:['’]s| is)|is|aged) )?\(?(?P<age>\d{1,2})\)?"
_AGE_ES = r",? (?:(?:de|que tiene|tiene|con) )?\(?(?P<age>\d{1,2})(?: a[ñn]os)?\)?"
_AGED, _AGED_ES = (
    LazyPattern(rf"^{several}[,:]? (?P<items>{one}(?:(?:,|,? {last}) {one}){{1,4}})[.!]?$", _I)
    for several, one, last in (
        (_HAVE_SEVERAL, _NAMED + _AGE.replace("?P<age>", "?:"), "and"),
        (_HAVE_SEVERAL_ES, _NAMED + _AGE_ES.replace("?P<age>", "?:"), "y"),
    )
)
"""`I've got two sons, Ben (7) and Tom (4)`."""
_AT_PLACE = LazyPattern(rf"(?:^|,? and |, )(?P<name>{_NAMED}) ?(?= (?:at|in|on) )", _I)
_AT_PLACES = LazyPattern(
    rf"^{_HAVE_SEVERAL}[,:]? (?P<items>{_NAMED} (?:at|in|on) [^,;]{{2,40}}?"
    rf"(?:(?:,|,? and) {_NAMED} (?:at|in|on) [^,;]{{2,40}}?){{1,4}})[.!]?$",
    _I,
)
"""`I've got two sons: Ben at Hill School and Tom at Oak School`."""
_AGED_ONE = LazyPattern(rf"(?:^|,? and |, )(?P<name>{_NAMED}){_AGE}", _I)
_AGED_ONE_ES = LazyPattern(rf"(?:^|,? y |, )(?P<name>{_NAMED}){_AGE_ES}", _I)


def with_siblings(sentence: str) -> str:
    """Split a list of relatives or pets, with a statement about each or the age of each, into the
    list of their names and sentences about each."""
    for listed, item, last, told in (
        (_SIBLINGS, _SIBLING, " and ", ""),
        (_SIBLINGS_ES, _SIBLING_ES, " y ", ""),
        (_AGED, _AGED_ONE, " and ", r" is \g<age>"),
        (_AT_PLACES, _AT_PLACE, " and ", " is"),
        (_AGED_ES, _AGED_ONE_ES, " y ", r" tiene \g<age> años"),
    ):
        if found := listed.match(sentence):
            kin = found["kin"] or found["child"] if "kin" in found.groupdict() else ""
            *first, latest = (one["name"] for one in item.finditer(found["items"]))
            names = f"{', '.join(first)}{last}{latest}" if first else latest
            items = item.sub(rf"; {f'my {kin} ' if kin else ''}\g<name>{told}", found["items"])
            return f"{found['first']}: {names}{items}"
    return sentence


def _with_name_first(found: re.Match[str]) -> str:
    """`Una hermana que se llama Ana y vive en Lugo` for `una hermana que vive en Lugo, se llama
    Ana`."""
    if _OF_BEING.match(found.string) and not concepts_of(found["thing"]) & (kin() | {"pet"}):
        # "Mi padre vive en una residencia, se llama Fermín": the father.
        return found[0]
    more = (found["more"] or "").replace(" que ", " y ", 1)
    return f"{found['thing']} que se llama {found['name']}{more}"


_OF_BEING = LazyPattern(r"(?:mi|nuestr[oa]) [a-zß-ÿ]+ (?:vive|est[aá]|trabaja) ", _I)


def with_both_told(sentence: str) -> str:
    """The sentence with the halves that tell the same of two beings or things apart, and the noun
    that the second one leaves out: `Ben's birthday is 3 May, Lucy's is 9 June`."""
    for pattern, told in (
        (_SAME_NOUN, r"\g<first>; \g<owner> \g<noun> \g<verb> "),
        (_SAME_NOUN_OWN, r"\g<first>; my \g<noun> \g<verb> "),
        (_SAME_NOUN_ES, r"\g<first>; \g<noun> de \g<owner> es "),
        (_OTHER_ONE, r"\g<first>; \g<other> \g<noun>"),
        (_GAPPED, r"\g<first>; \g<second> \g<verb> "),
        (_GAPPED_ES, r"\g<first>; \g<second> \g<verb> "),
        (_TWO_RELATIVES, r"\g<first>; \g<second>\g<verb> "),
        (_TWO_RELATIVES_ES, r"\g<first>; \g<second>\g<verb> "),
        (_SAME_VERB_ES, r"\g<first>; \g<time> \g<verb> "),
        (_TWO_NAMED_ES, r"\g<first>; \g<second> se llama "),
        (_TWO_BEINGS, r"\g<first>; \g<second> \g<verb> "),
        (_OUR_SEVERAL, r"\g<first>; we have \g<count> \g<noun>, "),
        (_OTHER_HAS, r"\g<first>; \g<second> has "),
        (_OTHER_HAS_ES, r"\g<first>; \g<second> tiene "),
        (_OWN_FIRST_ES, r"\g<first>; \g<noun> \g<own> de \g<owner> es "),
        (_AND_I_ES, r"\g<first>; yo \g<verb>o "),
        (_OWN_THING_ES, r"\g<first>; mi \g<noun> es "),
        (_AND_ONE, r"\g<first>; \g<head> \g<thing> "),
        (_SAME_PREPOSITIONS, _SAME_HEAD),
        (_DAY_FIRST, _SAME_HEAD),
        (_PAYS, _SAME_HEAD),
        (_OWES, _SAME_HEAD),
        (_TWO_THINGS, _SAME_HEAD),
        (_TWO_THINGS_ES, _SAME_HEAD),
        (_NAME_BEFORE_VERB_ES, r"\g<first>; \g<name> "),
    ):
        for _ in range(MAX_TOLD):
            if len(sentence) > MAX_STATEMENT_CHARS or not (found := pattern.search(sentence)):
                break
            # The next one of the list may begin with the end of this one.
            sentence = f"{sentence[: found.start()]}{found.expand(told)}{sentence[found.end() :]}"
    return sentence


_SAME_HEAD = r"\g<first>; \g<head> "
_BEHIND_FIRST = r"(?:,? and|,? but|,? while|,? y|,? pero|[,;]) "
_SAME_NOUN = LazyPattern(
    rf"(?P<first>\b(?:my|our|(?:my |our )?\w+['’]s) (?P<noun>(?:[a-z-]+ )?[a-z-]+)"
    rf" (?P<verb>is|was|are)\b[^,;]{{1,40}}?){_BEHIND_FIRST}"
    rf"(?P<owner>(?:{_NAMED}|(?:my|our|his|her) [a-z-]+)['’]s)(?: (?:is|was|are) "
    r"| (?=(?:on|at|in|the|\d)\b))",
    _I,
)
_SAME_NOUN_OWN = LazyPattern(
    rf"(?P<first>\b\w+['’]s (?P<noun>(?:[a-z-]+ )?[a-z-]+) (?P<verb>is|was|are)\b[^,;]{{1,40}}?)"
    rf"{_BEHIND_FIRST}mine(?: (?:is|was|are)|['’]s) ",
    _I,
)
_SAME_NOUN_ES = LazyPattern(
    rf"(?P<first>\b(?P<noun>(?:el|la) [a-zß-ÿ]+) de (?:{_NAMED}|(?:mi )?[a-zß-ÿ]+) es "
    r"[^,;]{1,40}?)"
    rf"{_BEHIND_FIRST}(?:el|la) de (?P<owner>{_NAMED}|mi [a-zß-ÿ]+|[a-zß-ÿ]+(?= (?:el|es) ))"
    r"(?:,| es)? ",
    _I,
)
_GAPPED = LazyPattern(
    r"(?P<first>\b(?:the|my|our|his|her) [^,;]{2,40}? (?P<verb>(?:is|are)(?: due)?)"
    r" (?:on|at|an?) [^,;]{2,30}?)(?:,? and|,) "
    r"(?P<second>(?:the|my|our|his|her) (?:[\w'’-]+ ){0,3}?"
    r"[\w'’-]+(?<! is)(?<! are)(?<! due)(?<!['’]s)) (?=(?:on|at|an?) )",
    _I,
)
"""Two things with a date each, and a verb that the second leaves out: `the report is due on Friday,
the slides on Monday`."""
_GAPPED_ES = LazyPattern(
    r"(?P<first>^(?:el|la|mi|nuestr[oa]) [^,;]{2,40}? (?P<verb>es|son|est[aá]n?)"
    r" (?:el|a las?|en|una?) [^,;]{2,30}?)(?:,? y|,) (?P<second>(?:el|la|los|las|mi|nuestr[oa])"
    rf" (?!{WEEKDAYS}|d[ií]a)[a-zß-ÿ]+(?: de (?:la |mi )?\w+)?) (?=(?:el|a las?|en|una?) )",
    _I,
)
_OTHER_ONE = LazyPattern(
    r"(?P<first>\b(?:my|our|the) [\w-]+ (?P<noun>[a-z]+)(?: (?:is|was|are)|['’]s) [^,;]{2,40}?)"
    r"(?:,? and|,) (?P<other>(?:(?:my|our|the) [\w-]+(?= one\b)"
    r"|(?:my|our|the) (?:second|third|next|last|other)\b))(?: one)?(?=(?: (?:is|was)|['’]s) )",
    _I,
)
"""`My chem exam is on the 12th and the physics one is on the 15th`."""
_TWO_RELATIVES = LazyPattern(
    r"(?P<first>^my \w+(?P<verb>['’]s| is| was| lives| works) (?:from|in|at|for) [^,;]{2,30}?)"
    r"(?:,? and|,) (?P<second>my \w+) (?=(?:from|in|at|for) )",
    _I,
)
"""`My dad's from Cork and my mum from Kerry`: a verb that the second leaves out."""
_TWO_RELATIVES_ES = LazyPattern(
    r"(?P<first>^mi \w+(?P<verb> es| era| vive| trabaja| naci[oó]) (?:del?|en) [^,;]{2,30}?)"
    r"(?:,? y|,) (?P<second>mi \w+) (?=(?:del?|en) )",
    _I,
)
_TWO_NAMED_ES = LazyPattern(
    rf"(?P<first>^mi [a-zß-ÿ]+(?: [a-zß-ÿ]+)? se llama {_NAMED}),? y"
    rf" (?P<second>(?:mi|la|el) [a-zß-ÿ]+) (?={_NAMED}(?:$|,))",
    _I,
)
"""`Mi hijo mayor se llama Bruno y la pequeña Carlota`."""
_TWO_BEINGS = LazyPattern(
    r"(?P<first>^(?:mi [a-zß-ÿ]+ (?:mayor|menor|peque[ñn][oa]|median[oa])"
    r"|mi [a-zß-ÿ]+(?: (?-i:[A-ZÀ-Þ])[a-zß-ÿ]+)?"
    r"|my (?:older |younger |eldest |youngest |big |little )?[a-z]+(?: (?-i:[A-ZÀ-Þ])[a-zß-ÿ]+)?"
    r"|(?-i:[A-ZÀ-Þ])[a-zß-ÿ]+)"
    r" (?P<verb>se llama|calza|tiene|toma|conduce|mide|pesa|usa|va|juega|toca|estudia|hace"
    r"|come|es|vive|trabaja"
    r"|is|has|takes|drives|wears|plays|goes|does|studies|eats|weighs)"
    r" (?:(?P<name>(?-i:(?=[A-ZÀ-Þ])))"
    r"|(?P<begin>\d|(?:un|una|en|al?|de|el|la|los|las|an?|the|in|at|to|size) ))"
    r"[^,;]{0,40}?)(?:,? y|,? and|,)"
    r" (?P<second>(?:la|el) (?:mayor|menor|peque[ñn][oa]|median[oa])"
    r"|mi [a-zß-ÿ]+(?: (?-i:[A-ZÀ-Þ])[a-zß-ÿ]+)?|my [a-z]+(?: (?-i:[A-ZÀ-Þ])[a-zß-ÿ]+)?"
    r"|(?-i:[A-ZÀ-Þ])[a-zß-ÿ]+) "
    r"(?(name)(?-i:(?=[A-ZÀ-Þ]))|(?=(?P=begin)|\d|(?:al?|del?) ))",
    _I,
)
"""`Álvaro calza un 33 y Daniela un 29`: a verb that the second leaves out."""
_OUR_SEVERAL = LazyPattern(
    r"(?P<first>(?:^|(?<=and )|(?<=, ))(?:i|we|i['’]m|we['’]re) [^,;]{2,60}? with"
    r" [^,;]{2,40}?)(?:,? and|,)"
    r" (?:our|my) (?P<count>two|three|four|five) (?P<noun>[a-z]+s|children),? (?:called )?"
    rf"(?={_NAMED}(?:(?:,|,? and) {_NAMED}){{1,4}}[.!]?$)",
    _I,
)
"""`I live with my husband and our two cats, Milo and Luna`."""
_OTHER_HAS = LazyPattern(
    r"(?P<first>^(?:i|we)(?: have|['’]ve)(?: got)? (?P<begin>an?) [^,;]{2,40}?)(?:,? and|,)"
    r" (?P<second>my [a-z]+(?: (?-i:[A-ZÀ-Þ])[a-zß-ÿ]+)?|(?-i:[A-ZÀ-Þ])[a-zß-ÿ]+) (?=an? )",
    _I,
)
"""`I have a Corsa and my wife a Peugeot`."""
_OTHER_HAS_ES = LazyPattern(
    r"(?P<first>^tengo (?:una?|(?P<age>\d{1,2})) ?[^,;]{0,40}?)(?:,? y|,)"
    r" (?P<second>mi [a-zß-ÿ]+(?: (?-i:[A-ZÀ-Þ])[a-zß-ÿ]+)?|(?-i:[A-ZÀ-Þ])[a-zß-ÿ]+) "
    r"(?(age)(?=\d{1,2}\b)|(?=una? ))",
    _I,
)
_OWN_FIRST_ES = LazyPattern(
    r"(?P<first>^mi (?P<own>[a-zß-ÿ]+) es [^,;]{1,40}?)(?:,? y|,) "
    rf"(?P<noun>el|la) de (?P<owner>mi [a-zß-ÿ]+|{_NAMED})(?: es|,)? "
    r"(?=(?:el|la|los|un|una|en|de) |\S*\d|(?-i:[A-ZÀ-Þ]))",
    _I,
)
"""`Mi matrícula es 4417 KLM y la de mi marido 9052 JBR`."""
_AND_I_ES = LazyPattern(
    r"(?P<first>^(?:mi [a-zß-ÿ]+|(?-i:[A-ZÀ-Þ])[a-zß-ÿ]+) (?P<verb>trabaj|estudi|tom|toc)a"
    r" (?P<begin>en|de|el|la|un|una) [^,;]{2,40}?) y yo (?=(?P=begin) )",
    _I,
)
"""`Mi mujer trabaja en Correos y yo en Renfe`."""
_OWN_THING_ES = LazyPattern(
    r"(?P<first>^(?:el|la) (?P<noun>[a-zß-ÿ]+) de (?:mi )?[^\W\d_]+ es [^,;]{2,40}?)"
    r"(?:,? y|,) (?:el m[ií]o|la m[ií]a)(?: es|,)? ",
    _I,
)
"""`El coche de mi mujer es un Arona y el mío un Sandero`."""


def _two_things(head: str, thing: str, conjunction: str, details: Mapping[str, str]) -> LazyPattern:
    """Pattern for a subject and verb (`head`) with two objects (`thing`) and a detail of the same
    kind about each: `I have a dog called Rex and a cat called Milo`. `details`: patterns of the
    kinds of detail, by name."""
    second = "(?!)"
    for kind, detail in details.items():
        second = f"(?({kind}){detail}|{second})"
    first = "|".join(f"(?P<{kind}>{detail})" for kind, detail in details.items())
    return LazyPattern(
        rf"(?P<first>(?:^|(?<=; ))(?P<head>{head}) {thing},?(?:{first}))(?:,? {conjunction}|,) "
        rf"(?={thing},?{second}(?:$|[,.!]| {conjunction} ))",
        _I,
    )


_TWO_THINGS = _two_things(
    r"(?:(?:for|at|in) (?:[\w-]+ ){1,4}?)?(?:i|we)"
    r"(?:(?:['’]ve| have)(?: got| ordered| booked| bought| hired| joined)?"
    r"| take| play| do| teach| pay| swim| get)|there(?:['’]s| is)"
    rf"|(?:my [a-z]+|{_NAMED}) (?:has(?: got)?|takes|plays|does|teaches|goes to)",
    r"(?!(?:i|we|she|he|they|it|then|is|are|was|have|has)\b"
    r"|(?:[\w-]+ ){1,2}(?:has|have|is|are|does|do|goes|plays|takes|teaches)\b)"
    rf"(?:[\w-]+ ){{0,3}}[\w-]+(?:, {_NAMED})?",
    "and",
    {
        "named": rf" (?:called|named) {_NAMED}",
        "from": rf" (?:from|with) {_NAMED}",
        "aged": r" (?:(?:who(?:['’]s| is)|aged|of) )?\(?\d{1,2}\)?(?:[- ]years?[- ]old)?",
        "day": rf" (?:on|every) (?:{WEEKDAYS})(?: and (?:{WEEKDAYS}))?",
        "time": r" (?:at \d{1,2}\S*(?: ?[ap]m)?|(?:in the|every) (?:morning|evening|afternoon)s?"
        r"|(?:at|with|before|after) (?:night|noon|lunch|dinner|breakfast|bed|bedtime|supper))",
    },
)
"""`I have a dog called Rex and a cat called Milo`: two facts."""
_TWO_THINGS_ES = _two_things(
    r"(?:(?:para|en|este|esta) (?:[\w-]+ ){1,3}?)?(?:tengo|tenemos|hay|tomo|juego|hago|doy|voy"
    r"|pago|toco)"
    rf"|(?:mi [a-zß-ÿ]+|{_NAMED}) (?:tiene|toma|juega|hace|va|da)",
    r"(?!(?:yo|me|se|ella|él|luego|es|son)\b"
    r"|(?:[\w-]+ ){1,2}(?:tiene|es|hace|va|juega|toma|da|toca)\b)"
    rf"(?:[\w-]+ ){{0,3}}[\w-]+(?:, {_NAMED})?",
    "y",
    {
        "named": rf" (?:que se llama|llamad[oa]) {_NAMED}",
        "aged": r" (?:de|que tiene|con) \d{1,2}(?: (?:años|meses))?",
        "day": rf" (?:los|las|el|cada|todos los) (?:{WEEKDAYS})(?: y (?:los )?(?:{WEEKDAYS}))?",
        "time": r" (?:a las? \d\S*|por las? (?:ma[ñn]ana|tarde|noche)s?|al mediod[ií]a"
        r"|antes de (?:dormir|cenar|comer)|(?:con|en) (?:el desayuno|la cena|la comida))",
    },
)
"""`Juego al tenis los martes y al pádel los jueves`."""
_AND_NEXT = r"(?:,? and|,? y|,)"
_AND_ONE = LazyPattern(
    # Two accounts, not two appointments, are asked for together.
    rf"(?=[^;]*(?:\d|{WEEKDAYS}))"
    r"(?P<first>^(?P<head>(?:i|we)(?:['’]ve(?: got)?| have(?: got)?)|tengo|tenemos)"
    r" (?P<thing>(?:(?:an?|un|una) )?[\w-]+(?: (?!(?:with|at|in|on|for|con|en|el|para)\b)[\w-]+)?)"
    r" (?:with|at|in|on|for|con|en|el|para) [^,;]{2,40}?)"
    rf"{_AND_NEXT} (?:one|otr[oa]) (?=(?:with|at|in|on|for|con|en|el|para) )",
    _I,
)
"""`I have an appointment with the vet on Monday and one with the dentist on Friday`."""
_SAME_PREPOSITIONS = LazyPattern(
    r"(?P<first>(?:^|(?<=; ))(?P<head>(?!\w+ liv)(?:(?:i|we)(?:['’](?:ve|m|re))?|my \w+"
    r"|(?-i:[A-Z])\w+|(?:mi|nuestr[oa]) \w+)(?: [\w'’-]+){1,3}?"
    r"|(?:trabajo|tengo|estudio|juego|nado|voy|entreno)(?: [\w-]+){0,2}?)"
    r" (?P<one>at|in|for|with|en|con) (?:(?!and\b|y\b)[\w'’-]+ ){1,4}?"
    rf"(?P<two>on|every|los|el|cada) [^,;]{{2,25}}?){_AND_NEXT}"
    r" (?=(?P=one) (?:(?!and\b|y\b)[\w'’-]+ ){1,4}?(?P=two) )",
    _I,
)
"""`I work at Greggs on Saturdays and at the library on Sundays`."""
_DAY_FIRST = LazyPattern(
    r"(?P<first>(?:^|(?<=; ))(?P<head>"
    r"(?:i|we) (?:work|volunteer|train|teach|swim|play|run|help|serve)"
    r"|trabajo|entreno|juego|nado|ayudo)"
    rf" (?:(?:on|los|el) )?(?:{WEEKDAYS}) (?:at|in|with|for|en|con) [^,;]{{2,40}}?){_AND_NEXT}"
    rf" (?=(?:(?:on|los|el) )?(?:{WEEKDAYS}) (?:at|in|with|for|en|con) )",
    _I,
)
"""`I work Tuesdays at the Oxfam shop and Fridays at the food bank`."""
_SUM = r"[£$€]?\d\S*(?: \w+)?(?: (?:a|per|each|every|al|cada) \w+)?"
_PAYS = LazyPattern(
    rf"(?P<first>(?:^|(?<=; ))(?P<head>(?:i|we) pay|pago|pagamos) {_SUM} (?:for|por|de)"
    rf" (?:[\w-]+ ){{0,2}}[\w-]+){_AND_NEXT} (?={_SUM} (?:for|por|de) )",
    _I,
)
"""`I pay 12 for Netflix and 9 for Spotify`."""
_OWES = LazyPattern(
    rf"(?P<first>(?:^|(?<=; ))(?P<head>i owe|(?:le )?debo) (?:(?:my )?[\w-]+ {_SUM}"
    rf"|{_SUM} al? (?:mi )?[\w-]+))"
    rf"{_AND_NEXT} (?=(?:my )?[\w-]+ [£$€]?\d|{_SUM} al? )",
    _I,
)
"""`I owe Josh 20 and Priya 35`."""
_TIME_OF_DAY = r"(?:por las? (?:ma[ñn]anas?|tardes?|noches?)|al mediod[ií]a|los [^\W\d_]+s)"
_SAME_VERB_ES = LazyPattern(
    rf"(?P<first>^{_TIME_OF_DAY},? (?P<verb>(?:me |nos )?[^\W\d_]+(?:o|[aei]mos)) [^,;]{{2,80}}?)"
    rf",? y (?P<time>{_TIME_OF_DAY}),? (?!{FINITE}\b|[^\W\d_]+o (?:de|al?|con|una?|el|la|en)\b"
    r"|(?:hago|tengo|voy|salgo|toco|juego|cuido|trabajo|estudio) )(?=(?!(?:me|nos|se)\b)[^\W\d_])",
    _I,
)
"""`Por las mañanas tomo … y por las noches …`: each is over by itself."""
_NAME_BEFORE_VERB_ES = LazyPattern(
    r"(?P<first>^(?:(?:ahora|tambi[eé]n|ya) )?(?:estoy|tengo|tenemos|salgo|conoc[ií]|conozco"
    rf"|vivo|hay|he [^\W\d_]+[dt]o) [^,;]{{3,60}}, (?P<name>{_NAMED})), (?={THIRD_SPANISH}\b)",
    _I,
)
"""`Tengo una vecina, Eva, es pintora`."""
_WISH_TO_BE_REMINDED = LazyPattern(
    r"(?<=\w), (?:and |so |y )?(?:please |por favor )*(?:(?:can|could|would|will) you (?:please )?"
    r"(?:remind me|remember(?: (?:that|it))?)|(?:puedes|podr[ií]as|me puedes) (?:record[aá]r(?:me)?"
    r"(?:lo)?)|me lo (?:puedes recordar|recuerdas)|remind me|recu[eé]rdamelo)"
    r"(?: (?:of|about) (?:it|that))?(?:,? (?:please|por favor))?[\s?!.]*$",
    _I,
)
"""Requests for no more than to keep the statement before them."""
_PITIED = LazyPattern(
    r"^(?:(?:poor|dear)(?: old)?|(?:el |la )?pobre(?:cit[oa])?(?: de)?) (?=(?-i:[A-ZÀ-Þ])\w)", _I
)
_NAMED_BEHIND = LazyPattern(
    r"(?P<thing>\b(?:(?:an?|my|our) (?:[\w-]+ )?[\w-]+|some(?:one|body) new)),? (?:and )?"
    r"(?:(?:(?:his|her|its) name(?:['’]s| is)|(?:he|she|it)(?:['’]s| is) called)(?= (?-i:[A-Z]))"
    r"|(?:his|her|its) name['’]s(?= \w+(?:$|[,.;]))) (?P<name>\w+)",
    _I,
)
"""A name told behind its noun: `a baby, her name is Mira`."""
_DIAGNOSED = LazyPattern(
    r"^(?:the|my|our|his|her) (?:[\w-]+ )?(?:doctor|gp|nurse|midwife|dentist|vet|allergist"
    r"|consultant|specialist|surgeon|p(?:a)?ediatrician|optician|physio|\w+ologist)(?: has| now)?"
    r" (?:says?|said|confirmed|told (?:me|us)) (?:that )?"
    r"(?!.*\b(?:should|could|might|would|may|must|if|try)\b)"
    r"(?P<en>(?:i|i['’]\w+|my [\w-]+|our [\w-]+|(?!(?:he|she|it|they|that)\b)(?-i:[A-Z])\w+)"
    r"(?:['’]s| (?:has|have|is|am|was|no longer|does|doesn['’]t|don['’]t|can|can['’]t|need)) .+)$"
    r"|^(?:el|la|mi|nuestr[oa]) (?:m[eé]dic[oa]|doctora?|pediatra|dentista|veterinari[oa]"
    r"|enfermer[oa]|comadrona|\w+[oó]log[oa]) (?:(?:me |nos )?ha dicho|dice|dijo|confirma) que "
    r"(?!.*\b(?:deber[ií]a|podr[ií]a|tal vez|quiz[aá]s?|si)\b)"
    r"(?P<es>(?:tengo|soy|estoy|ya no|mi \w+|(?-i:[A-ZÀ-Þ])\w+ (?:tiene|es|est[aá]|ya no)) .+)$",
    _I,
)
"""A doctor's finding is a fact, unlike what others only say."""
_PUT_ON = LazyPattern(
    r"(?P<border>,? and |[,;] (?:and )?)(?:(?:they|he|she)(?:['’](?:ve|s)| have| has)? )?put me on "
    r"(?=\w)",
    _I,
)
"""A medicine or shift that others have put the speaker on, behind what they ended."""
_NAMED_BEHIND_ES = LazyPattern(
    r"(?P<thing>\b(?:una?|mi|nuestr[oa]) (?:[\w-]+ )?[\w-]+?)(?P<more> (?:que|con) [^,;]{3,30})?,"
    r" (?:y )?se llama (?P<name>(?:(?-i:El|La|Los|Las) (?-i:[A-ZÀ-Þ])|(?!l[ao]s?\b|un))\w+)",
    _I,
)
