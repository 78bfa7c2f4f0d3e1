"""Local embedder: all-MiniLM-L6-v2 on the CPU, without torch and without network."""
