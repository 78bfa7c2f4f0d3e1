"""Text as what it is found by: words, stems, terms with weights, and which rows have them.

Below memory and rag, which use the same pieces. Knows neither memories nor documents.
Import from the files: numpy is loaded with some of them, not with this package.
"""
