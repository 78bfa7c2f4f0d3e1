"""The project's figures: `make bench`, or `python -m bench --help`. Kept out of the test run."""
