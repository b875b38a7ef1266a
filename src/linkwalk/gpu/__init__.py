"""Walks, decisions and journeys that never leave a GPU: the same as on a CPU, bit for bit where they draw."""
