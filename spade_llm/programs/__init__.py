"""The home of programs written for spade_llm 0.2 and 0.3: thin adapters over our own parts.

What such a program names is found under the paths that it knows (`spade_llm.rag`, ...); those
doors load it from here when it is first used.
"""
