"""Readers that learn what is meant: of goals, queries, sentences and blocks (sec. 4.2, 4.3)."""
