"""W = {N, L}: blocks, edges, the memory-mapped store, shortest paths, split, statistics, diff (sec. 4.1, app. A)."""
