"""Builds the documentation site: `python -m tests.site`.

Any warning of the generator and any broken link of a built page is an error (exit code 1).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.site.links import broken_links
from tests.site.staging import ROOT, STAGED, stage

HTML = STAGED.parent / "html"
BUILD_S = 300


def main() -> int:
    shutil.rmtree(STAGED, ignore_errors=True)
    shutil.rmtree(HTML, ignore_errors=True)
    stage(STAGED)
    # --clean: the generator's cache does not see that a docstring has changed.
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, timeout=BUILD_S, check=False)
    if done.returncode:
        return 1
    broken = broken_links(HTML)
    for page, target in broken:
        sys.stderr.write(f"{page}: broken link {target}\n")
    pages = len(list(HTML.rglob("*.html")))
    sys.stdout.write(f"{pages} pages in {HTML.relative_to(ROOT)}, {len(broken)} broken links\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
