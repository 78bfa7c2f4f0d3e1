"""Chat turn: from one message and its recalled context to one answer."""
