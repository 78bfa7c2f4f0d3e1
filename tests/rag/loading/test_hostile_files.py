"""Files that are broken, or made to do harm: a clear reason each, and the rest is read."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spade_llm.core.errors import InvalidArguments
from spade_llm.rag.contract import SourceDocument
from spade_llm.rag.library import DocumentLibrary
from spade_llm.rag.loading.loader import FoundFile, Loader, LoadLimits, SkippedFile
from spade_llm.rag.loading.parse_process import parse_content
from spade_llm.rag.loading.parse_worker import ParseLimits
from spade_llm.rag.loading.text_files import BoundedText, FileKind
from tests.rag.bag_of_words import BagOfWords
from tests.rag.files import with_part, write_docx, write_pdf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def loader(tmp_path: Path) -> Iterator[Loader]:
    limits = LoadLimits(parsing=ParseLimits(timeout_s=2, memory_bytes=600_000_000))
    with Loader([tmp_path], limits=limits) as loader:
        yield loader


def _read(loader: Loader, name: str) -> str:
    (file,) = loader.find(name)
    assert isinstance(file, FoundFile)
    return loader.read(file).text


def _refusal(loader: Loader, name: str) -> str:
    with pytest.raises(InvalidArguments) as refused:
        _read(loader, name)
    assert repr(name) in str(refused.value)
    return str(refused.value)


def test_a_file_of_a_gigabyte_is_left_out_unread(loader: Loader, tmp_path: Path) -> None:
    for name in ("huge.txt", "huge.pdf", "huge.csv"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1_000_000_000)
    (tmp_path / "small.txt").write_text("x")
    began = time.monotonic()

    found = loader.find(".")

    assert [type(one) for one in found] == [SkippedFile, SkippedFile, SkippedFile, FoundFile]
    assert [one.reason for one in found if isinstance(one, SkippedFile)] == [
        "is larger than 20000000 bytes; split it",
        "is larger than 100000000 bytes; split it",
        "is larger than 20000000 bytes; split it",
    ]
    assert time.monotonic() - began < 1


def test_a_file_that_grows_after_it_was_found_is_not_read_whole(
    loader: Loader, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x")
    (file,) = loader.find("a.txt")
    assert isinstance(file, FoundFile)
    os.truncate(tmp_path / "a.txt", 1_000_000_000)

    with pytest.raises(InvalidArguments, match="larger"):
        loader.read(file)


def test_a_file_that_becomes_a_link_after_it_was_found_is_not_followed(
    loader: Loader, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x")
    (file,) = loader.find("a.txt")
    assert isinstance(file, FoundFile)
    (tmp_path / "a.txt").unlink()
    (tmp_path / "a.txt").symlink_to("/etc/passwd")

    with pytest.raises(InvalidArguments, match="cannot be read"):
        loader.read(file)


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.json", "a.html", "a.py"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"ab\xff\xfe\xfa", "byte 2 is wrong; save it as UTF-8"), (b"MZ\0\1\2", "is not text")],
)
def test_binary_content_is_reported(
    loader: Loader, tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)

    assert reason in _refusal(loader, name)


@pytest.mark.thorough
def test_a_zip_bomb_is_not_opened(loader: Loader, tmp_path: Path) -> None:
    write_docx(tmp_path / "bomb.docx", "T", {"One": "x"})
    with_part(tmp_path / "bomb.docx", "word/media/image1.png", bytes(260_000_000))

    assert "zip bomb" in _refusal(loader, "bomb.docx")


def test_a_zip_bomb_of_xml_is_not_opened(loader: Loader, tmp_path: Path) -> None:
    write_docx(tmp_path / "bomb.docx", "T", {"One": "x"})
    with_part(tmp_path / "bomb.docx", "word/document.xml", b"<a>" + b" " * 61_000_000 + b"</a>")

    assert "zip bomb" in _refusal(loader, "bomb.docx")


@pytest.mark.thorough
def test_a_zip_that_lies_about_its_sizes_gives_no_more_than_it_says(
    loader: Loader, tmp_path: Path
) -> None:
    write_docx(tmp_path / "liar.docx", "T", {"One": "x"})
    large = b"<a>" + b" " * 61_000_000 + b"</a>"
    with_part(tmp_path / "liar.docx", "word/document.xml", large)
    content = (tmp_path / "liar.docx").read_bytes()
    said, claimed = len(large).to_bytes(4, "little"), (1000).to_bytes(4, "little")
    assert said in content
    (tmp_path / "liar.docx").write_bytes(content.replace(said, claimed))

    assert "damaged" in _refusal(loader, "liar.docx")


def test_entities_are_not_expanded(loader: Loader, tmp_path: Path) -> None:
    write_docx(tmp_path / "laughs.docx", "T", {"One": "x"})
    entities = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 20}">' for n in range(10))
    xml = (
        f'<!DOCTYPE d [<!ENTITY e0 "ha"><!ENTITY f SYSTEM "file:///etc/passwd">{entities}]>'
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        "<w:body><w:p><w:r><w:t>Before &e10; &f; after</w:t></w:r></w:p></w:body></w:document>"
    )
    with_part(tmp_path / "laughs.docx", "word/document.xml", xml.encode())

    assert "DTD" in _refusal(loader, "laughs.docx")


@pytest.mark.parametrize(
    "content",
    [b"", b"%PDF-1.7\n", b"%PDF-1.7\nnonsense " * 100, b"PK\3\4 nonsense", b"\xd0\xcf\x11\xe0"],
)
@pytest.mark.parametrize("name", ["a.pdf", "a.docx"])
def test_nonsense_in_a_document_is_refused(
    loader: Loader, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)

    assert _refusal(loader, name)


def test_a_pdf_cut_off_in_the_middle_does_not_spoil_the_next_one(
    loader: Loader, tmp_path: Path
) -> None:
    write_pdf(tmp_path / "a.pdf", ["Text that stays."])
    (tmp_path / "b.pdf").write_bytes((tmp_path / "a.pdf").read_bytes()[200:700])

    assert _refusal(loader, "b.pdf")
    assert "Text that stays." in _read(loader, "a.pdf")


def _pdf(*objects: bytes) -> bytes:
    """A PDF of these objects, from 1; the first is the catalogue."""
    out, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return (
        out
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\n"
        % (
            len(objects) + 1,
            table,
            len(objects) + 1,
        )
        + b"startxref\n%d\n%%%%EOF\n" % len(out)
    )


def test_pages_that_are_their_own_parents_do_not_hang(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(
        _pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 1 /Kids [2 0 R] >>")
    )

    assert _refusal(loader, "a.pdf")


def _write_slow(path: Path) -> None:
    operators = zlib.compress(b"BT /F 1 Tf " + b"(x) Tj 1 0 0 1 0 0 Tm " * 600_000 + b"ET")
    path.write_bytes(
        _pdf(
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R "
            b"/Resources << /Font << /F << /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
            b" >>",
            b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream"
            % (len(operators), operators),
        )
    )


@pytest.mark.thorough
def test_a_pdf_that_works_without_end_is_given_up(loader: Loader, tmp_path: Path) -> None:
    _write_slow(tmp_path / "slow.pdf")
    write_pdf(tmp_path / "good.pdf", ["Still here."])

    assert "could not be parsed within 2 s" in _refusal(loader, "slow.pdf")
    assert "Still here." in _read(loader, "good.pdf")


@pytest.mark.thorough
async def test_files_that_work_without_end_hold_up_nothing_that_is_not_parsed(
    loader: Loader, tmp_path: Path
) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
    _write_slow(tmp_path / "slow.pdf")
    (tmp_path / "note.md").write_text("At once.")
    (slow,), (note,) = loader.find("slow.pdf"), loader.find("note.md")
    assert isinstance(slow, FoundFile)
    assert isinstance(note, FoundFile)

    given_up = [asyncio.create_task(loader.load(slow)) for _ in range(3)]
    await asyncio.sleep(0)
    loaded = await loader.load(note)
    are_done = [one.done() for one in given_up]
    ended = await asyncio.gather(*given_up, return_exceptions=True)

    assert (loaded.text, are_done) == ("At once.", [False, False, False])
    assert all(isinstance(one, InvalidArguments) for one in ended)


@pytest.mark.thorough
def test_a_pdf_with_a_decompression_bomb_is_refused(loader: Loader, tmp_path: Path) -> None:
    bomb = zlib.compress(zlib.compress(bytes(500_000_000)))
    (tmp_path / "bomb.pdf").write_bytes(
        _pdf(
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>",
            b"<< /Filter [/FlateDecode /FlateDecode] /Length %d >>\nstream\n%s\nendstream"
            % (len(bomb), bomb),
        )
    )

    assert _refusal(loader, "bomb.pdf")


@pytest.mark.thorough
def test_a_file_that_needs_too_much_memory_costs_its_parser_only(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[" + "[],[{}]," * 2_000_000 + "1]")
    (tmp_path / "b.json").write_text('{"a": 1}')
    limits = LoadLimits(parsing=ParseLimits(memory_bytes=250_000_000))

    with Loader([tmp_path], limits=limits) as loader:
        assert "memory" in _refusal(loader, "a.json")
        assert _read(loader, "b.json") == "a: 1\n"
        assert loader.parser.started == 2


@pytest.mark.thorough
def test_a_parser_that_is_killed_is_replaced(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"a": 1}')
    assert _read(loader, "b.json") == "a: 1\n"
    pid = loader.parser.pid
    assert pid is not None

    os.kill(pid, signal.SIGKILL)

    assert "-9" in _refusal(loader, "b.json")
    assert _read(loader, "b.json") == "a: 1\n"


def test_the_parser_sees_nothing_of_our_environment(
    loader: Loader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-ours")
    (tmp_path / "b.json").write_text("1")
    _read(loader, "b.json")

    seen = subprocess.run(
        ["cat", f"/proc/{loader.parser.pid}/environ"], capture_output=True, check=True
    ).stdout

    assert b"PYTHONPATH" in seen
    assert b"sk-of-ours" not in seen


@pytest.mark.parametrize("depth", [103, 500, 100_000])
def test_json_nested_without_end_is_refused(loader: Loader, tmp_path: Path, depth: int) -> None:
    (tmp_path / "deep.json").write_text("[" * depth + "]" * depth)

    assert "nested" in _refusal(loader, "deep.json")


def test_a_table_with_endless_text_is_refused(loader: Loader, tmp_path: Path) -> None:
    header = ",".join(f"{'x' * 90}{n}" for n in range(900))
    (tmp_path / "wide.csv").write_text(header + "\n" + (",".join("1" * 900) + "\n") * 1000)

    assert "more than 20000000 bytes of text" in _refusal(loader, "wide.csv")


def test_a_table_of_one_endless_cell_is_refused(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('a,b\n"' + "x," * 200_000)

    assert "not valid CSV" in _refusal(loader, "a.csv")


def test_a_web_page_nested_without_end_is_refused(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<div>" * 300_000 + "deep")

    assert "nested too deeply" in _refusal(loader, "a.html")


def test_wrong_json_names_its_place(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": \n')

    assert "line 2 of it" in _refusal(loader, "a.jsonl")


def test_an_empty_folder_says_so(loader: Loader, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(InvalidArguments, match="'empty' is a folder without files"):
        loader.find("empty")


@pytest.mark.thorough
def test_closing_aborts_running_parsers(tmp_path: Path) -> None:
    slow = b"a,b\n" + b"x,y\n" * 2_000_000
    loader = Loader([tmp_path])
    loader.parser.parse(FileKind.JSON, b"1")
    outcome: list[BaseException] = []

    def parse() -> None:
        try:
            loader.parser.parse(FileKind.CSV, slow)
        except InvalidArguments as error:
            outcome.append(error)

    parsing = threading.Thread(target=parse)
    parsing.start()
    deadline = time.monotonic() + 5
    while not loader.parser.is_busy and time.monotonic() < deadline:
        os.sched_yield()
    loader.close()
    parsing.join(5)

    assert "crashed its parser" in str(outcome[0])
    assert loader.parser.pid is None
    assert loader.parser.parse(FileKind.JSON, b"2").text == "2\n"
    loader.close()


def test_many_threads_share_one_parser(loader: Loader) -> None:
    with ThreadPoolExecutor(8) as pool:
        texts = pool.map(lambda n: loader.parser.parse(FileKind.JSON, b"%d" % n).text, range(200))

    assert list(texts) == [f"{n}\n" for n in range(200)]
    assert loader.parser.started == 1


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_JSON)
def test_any_json_becomes_text_that_utf8_can_hold(value: object) -> None:
    parse_content(FileKind.JSON, json.dumps(value).encode()).text.encode()


@pytest.mark.parametrize(
    "kind", [FileKind.CSV, FileKind.HTML, FileKind.JSON, FileKind.TEXT, FileKind.JSON_LINES]
)
@given(content=st.binary() | st.text().map(str.encode))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_bytes_are_read_or_refused(kind: FileKind, content: bytes) -> None:
    try:
        parse_content(kind, content).text.encode()
    except InvalidArguments as error:
        assert str(error)


@given(st.lists(st.text(st.characters())))
def test_the_length_of_bounded_text_is_the_offset_of_what_comes_next(pieces: list[str]) -> None:
    text = BoundedText()
    for piece in pieces:
        assert text.length == len(str(text))
        text.add(piece)
    str(text).encode()


@pytest.mark.thorough
async def test_a_number_of_a_megabyte_does_not_hold_up_the_questions_of_others(
    tmp_path: Path,
) -> None:
    (tmp_path / "number.json").write_text("9" * 1_000_000)
    data = tmp_path / "data"
    async with DocumentLibrary(data, embedder=BagOfWords(), roots=[tmp_path]) as library:
        ada, bob = library.for_owner("ada@x"), library.for_owner("bob@x")
        await bob.ingest(
            SourceDocument(text="The house is green.", source="a", namespace="default")
        )
        began = time.monotonic()
        ingesting = asyncio.create_task(ada.ingest_path("number.json", namespace="default"))
        slowest_s = 0.0
        while not ingesting.done():
            asked = time.monotonic()
            found = await bob.retrieve("green house")
            slowest_s = max(slowest_s, time.monotonic() - asked)
        (ingested,) = await ingesting
        took_s = time.monotonic() - began

    assert found.chunks[0].chunk.text == "The house is green."
    assert ingested.chunks > 1000
    assert slowest_s < took_s / 5
