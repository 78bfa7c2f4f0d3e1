"""What people say in a chat, as far as its length and its words matter. Fixed seed."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORMS = (
    "What happens to {} after a restart?",
    "Can you tell me how {} works in a few words?",
    "Who decides about {} when two agents disagree?",
    "Where do I read more about {}?",
    "I had trouble with {} yesterday, what should I check first?",
    "Why is there a limit for {}?",
    "Is {} kept on disk, and for how long?",
    "What does the design say about {}?",
    "My colleague asked about {} and I did not know what to say.",
    "How many seconds does {} take on an ordinary machine?",
    "Please compare {} with what we had before.",
    "What do you remember about {} from last week?",
    "Could {} get lost when the network is down?",
    "Give me one example of {}.",
    "What is the difference between {} and a chat message?",
    "Should I worry about {} in production?",
)
_THINGS = (
    *("the answer log", "a deadline", "the server", "a repeated request", "the conversation"),
    *("the memory agent", "my favourite tea", "a refused request", "the order of messages"),
    *("the thread of a chat", "an unknown ontology", "the size of a body", "a cancelled turn"),
    *("the sender of a message", "a plain chat client", "the outbox", "my bicycle", "the archive"),
    *("a stream of parts", "the encoding of metadata", "a delayed message", "the tool agent"),
    *("a document with tables", "the sailing trip in May"),
)


def questions(seed: int = 11) -> Iterator[str]:
    """Each a different one, 384 in all."""
    texts = [form.format(thing) for form, thing in product(_FORMS, _THINGS)]
    random.Random(seed).shuffle(texts)
    return iter(texts)
