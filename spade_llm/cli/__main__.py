"""Entry point of `python -m spade_llm.cli`, as `up --processes` starts its children."""

import sys

from spade_llm.cli import main

sys.exit(main())
