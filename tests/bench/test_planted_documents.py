"""Documents with planted facts: each says what its questions ask for, and no other does."""

from __future__ import annotations

from bench.planted_documents import OTHER_WORDS, OWN_WORDS, planted_documents


def test_they_are_always_the_same() -> None:
    assert planted_documents(3) == planted_documents(3)


def test_each_fact_is_in_its_own_document_alone() -> None:
    documents = planted_documents(64)

    for document in documents:
        for fact in document.facts:
            assert [one.source for one in documents if fact.sentence in one.text] == [
                document.source
            ]


def test_each_fact_is_asked_for_in_its_own_words_and_in_others_and_by_no_other_question() -> None:
    facts = [fact for document in planted_documents(64) for fact in document.facts]

    assert {tuple(way for way, _ in fact.questions) for fact in facts} == {(OWN_WORDS, OTHER_WORDS)}
    questions = [question for fact in facts for _, question in fact.questions]
    assert len(set(questions)) == len(questions)
