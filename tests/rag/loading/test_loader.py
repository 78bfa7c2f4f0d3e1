"""Which files are read, and what is said of the others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from spade_llm.core.errors import InvalidArguments, PathNotFound
from spade_llm.rag.loading.loader import FoundFile, Loader, LoadLimits, SkippedFile

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "documents"
    root.mkdir()
    return root


def _read(loader: Loader, path: str) -> str:
    (file,) = loader.find(path)
    assert isinstance(file, FoundFile)
    return loader.read(file).text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_utf8_and_marked_utf16_are_read_alike(root: Path, encoding: str) -> None:
    (root / "a.txt").write_bytes("¿Dónde están?\n日本".encode(encoding))

    assert _read(Loader([root]), "a.txt") == "¿Dónde están?\n日本"


def test_utf16_from_the_other_end_is_read_too(root: Path) -> None:
    (root / "a.md").write_bytes(b"\xfe\xff" + "héron".encode("utf-16-be"))

    assert _read(Loader([root]), "a.md") == "héron"


def test_wrong_bytes_are_reported_with_their_place(root: Path) -> None:
    (root / "a.txt").write_bytes(b"caf\xe9")

    with pytest.raises(InvalidArguments, match="'a.txt' is not UTF-8: byte 3"):
        _read(Loader([root]), "a.txt")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../x.txt", r"'\.\.'"),
        ("a/../../x.txt", r"'\.\.'"),
        ("/etc/passwd", "outside the document roots"),
        ("absent.txt", "there is no"),
        ("", "empty"),
        ("a\0b", "NUL"),
        ("out.txt", "outside the document roots"),
        ("out/x.txt", "outside the document roots"),
        ("loop.txt", "circular|there is no"),
        (".hidden.txt", "hidden"),
        ("photo.png", "not read \\(.png\\)"),
        ("pipe.txt", "not a regular file"),
        ("x" * 5000, "cannot be resolved|there is no"),
    ],
)
def test_a_path_that_must_not_be_read_is_refused_with_the_reason(
    root: Path, path: str, reason: str
) -> None:
    (root.parent / "x.txt").write_text("secret")
    (root / "out.txt").symlink_to(root.parent / "x.txt")
    (root / "out").symlink_to(root.parent)
    (root / "loop.txt").symlink_to(root / "loop.txt")
    (root / ".hidden.txt").write_text("x")
    (root / "photo.png").write_text("x")
    os.mkfifo(root / "pipe.txt")

    with pytest.raises(InvalidArguments, match=reason) as refused:
        Loader([root]).find(path)
    is_below_the_root = path in (".hidden.txt", "photo.png", "pipe.txt")
    assert isinstance(refused.value, PathNotFound) is not is_below_the_root


def test_a_folder_is_no_file_and_a_file_no_folder(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "a.txt").write_text("x")
    loader = Loader([root])

    assert [*loader.find("sub/a.txt", only="file")] == [*loader.find("sub", only="folder")]
    with pytest.raises(PathNotFound, match="no folder 'sub/a.txt'"):
        loader.find("sub/a.txt", only="folder")
    with pytest.raises(PathNotFound, match="no file 'sub'"):
        loader.find("sub", only="file")


def test_a_sibling_folder_with_the_roots_name_as_prefix_is_outside(root: Path) -> None:
    neighbour = root.parent / "documents-private"
    neighbour.mkdir()
    (neighbour / "a.txt").write_text("x")

    with pytest.raises(InvalidArguments, match="outside"):
        Loader([root]).find(str(neighbour / "a.txt"))


def test_an_absolute_path_below_a_root_is_read(root: Path) -> None:
    (root / "a.txt").write_text("x")

    (file,) = Loader([root]).find(str(root / "a.txt"))

    assert file.source == "a.txt"


def test_a_link_that_stays_below_the_roots_is_read(root: Path) -> None:
    (root / "a.txt").write_text("inside")
    (root / "b.txt").symlink_to(root / "a.txt")

    assert _read(Loader([root]), "b.txt") == "inside"


def test_links_in_a_folder_do_not_lead_out(root: Path) -> None:
    (root.parent / "x.txt").write_text("secret")
    (root / "out.txt").symlink_to(root.parent / "x.txt")
    (root / "away").symlink_to(root.parent)
    (root / "gone.md").symlink_to(root / "nothing.md")

    found = Loader([root]).find(".")

    assert {entry.source: entry.reason for entry in found if isinstance(entry, SkippedFile)} == {
        "away": "a link to a folder is not followed",
        "gone.md": "cannot be opened, or is a link to nothing",
        "out.txt": "a link that leaves the document roots",
    }
    assert len(found) == 3


def test_two_roots_never_give_two_files_one_source(root: Path) -> None:
    other = root.parent / "other"
    other.mkdir()
    (root / "a.txt").write_text("first")
    (other / "a.txt").write_text("second")
    loader = Loader([root, other])

    assert _read(loader, "a.txt") == "first"
    (file,) = loader.find(str(other / "a.txt"))
    assert file.source == (other / "a.txt").as_posix()


def test_without_roots_nothing_is_read() -> None:
    with pytest.raises(InvalidArguments, match="no document roots"):
        Loader([]).find("a.txt")


def test_a_file_that_is_too_large_is_left_out(root: Path) -> None:
    (root / "big.txt").write_text("x" * 11)
    (root / "small.txt").write_text("x" * 10)

    big, small = Loader([root], limits=LoadLimits(max_file_bytes=10)).find(".")

    assert isinstance(big, SkippedFile)
    assert isinstance(small, FoundFile)
    assert "larger than 10 bytes" in big.reason


def test_a_folder_of_too_many_files_is_cut_and_says_so(root: Path) -> None:
    for number in range(5):
        (root / f"{number}.txt").write_text("x")

    *files, last = Loader([root], limits=LoadLimits(max_files=3)).find(".")

    assert [file.source for file in files] == ["0.txt", "1.txt", "2.txt"]
    assert isinstance(last, SkippedFile)
    assert "more than 3 files" in last.reason


def test_a_file_name_that_is_no_text_is_shown_with_a_mark(root: Path) -> None:
    with open(os.fsencode(root) + b"/caf\xe9.txt", "w") as file:
        file.write("x")

    (found,) = Loader([root]).find(".")

    assert found.source == "caf\ufffd.txt"


def test_a_folder_that_becomes_a_link_after_it_was_found_leads_nowhere(root: Path) -> None:
    secret = root.parent / "secret"
    secret.mkdir()
    (secret / "a.txt").write_text("not yours")
    (root / "inner").mkdir()
    (root / "inner" / "a.txt").write_text("yours")
    (found,) = Loader([root]).find("inner/a.txt")
    assert isinstance(found, FoundFile)

    (root / "inner").rename(root / "moved")
    (root / "inner").symlink_to(secret)

    with pytest.raises(InvalidArguments, match=r"'inner/a\.txt' cannot be read"):
        Loader([root]).read(found)


def test_a_folder_that_cannot_be_opened_is_named_among_what_was_left_out(root: Path) -> None:
    (root / "a.txt").write_text("one")
    here = os.open(root, os.O_RDONLY)
    # Deeper than a path may be long: whoever runs this may open every folder that has a path.
    for _ in range(20):
        os.mkdir("x" * 250, dir_fd=here)
        inner = os.open("x" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)

    left_out = [one for one in Loader([root]).find(".") if isinstance(one, SkippedFile)]

    assert [one.reason for one in left_out] == [
        "a folder that cannot be opened: File name too long"
    ]


def test_half_a_surrogate_pair_is_no_path(root: Path) -> None:
    with pytest.raises(InvalidArguments, match="surrogate"):
        Loader([root]).find("\ud800")
