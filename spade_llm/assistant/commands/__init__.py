"""Text commands (/help, /memories, /usage …) and ad-hoc menus (XEP-0050)."""
