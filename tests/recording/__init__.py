"""The README's chat: played on a real server, and drawn.

`python -m tests.recording` plays it and writes the picture, docs/images/chat.svg.
"""
