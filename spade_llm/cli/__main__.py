"""`python -m spade_llm.cli`: how `up --processes` starts its children."""

import sys

from spade_llm.cli import main

sys.exit(main())
