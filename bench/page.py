"""docs/benchmarks.md's table, from files of runs: `python -m bench.page RUN.json …`.

Several files are pieces of one run; of a benchmark in two of them the later counts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench.report import markdown
from bench.results import UnreadableRun, merged, read

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
BEGIN, END = "<!-- the last run -->", "<!-- end of the last run -->"


def with_table(page: str, table: str) -> str:
    """The page with this between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN.json")
    try:
        run = merged([read(path) for path in parser.parse_args().runs])
    except UnreadableRun as error:
        print(error, file=sys.stderr)
        return 2
    text = with_table(PAGE.read_text(encoding="utf-8"), markdown(run))
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
