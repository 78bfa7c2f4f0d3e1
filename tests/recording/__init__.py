"""The README's moving pictures: played on real servers, and drawn.

`python -m tests.recording` plays all three and writes them to docs/images/; with names (`chat`,
`terminal`, `console`), only those. It needs Prosody, tmux and Chromium.
"""
