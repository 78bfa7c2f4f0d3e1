"""From the bytes of a file to text: one module per kind. Knows no paths and no library.

Kinds whose files can be made to hang or to swell are parsed in a process of their own.
"""
