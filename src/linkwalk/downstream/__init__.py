"""Benchmarks of evidence: FEVER, Natural Questions, multi-hop questions (sec. 5.4, 5.5, app. C)."""
