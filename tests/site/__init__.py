"""Documentation site: staging of pages, generated reference, link check.

`python -m tests.site` (also `make docs`) builds it into build/site/html.
"""
