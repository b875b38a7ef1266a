"""The paper's own figures, to stand beside ours: facts, not results of this program.

Success in percent on its graphs of 200,000 blocks (tables 1 and 2), budget 100; None where a table has a dash.
"""

Figures = tuple[float | None, ...]

TABLE1_COLUMNS = ("forward 5", "forward 10", "forward 20", "reverse 5", "reverse 10", "reverse 20")
TABLE1: dict[str, Figures] = {
    "Forward": (85.3, 76.4, 67.5, 31.1, 32.6, 19.9),
    "Reverse": (2.3, 0.5, 0.2, 91.3, 87.9, 87.3),
    "Shortest path": (86.7, 85.0, 84.6, 74.3, 31.6, 28.4),
}
"""Trajectory distributions, walked between ends sampled forward and reverse (sec. 5.1)."""

TABLE2_COLUMNS = ("5", "10", "20", "multistep", "sentence 5", "sentence 10", "sentence 20")
TABLE2: dict[str, Figures] = {
    "RFBC": (85.3, 76.4, 67.5, 77.4, 60.7, 47.6, 34.6),
    "RL": (41.4, 40.2, 41.6, 43.6, 14.0, 1.5, 8.9),
    "RFBC + RL": (85.1, 77.6, 68.1, 78.3, None, None, None),
    "RFBC + RF": (17.4, 16.3, 16.6, 17.1, None, None, None),
    "RL + RF": (6.0, 7.5, 7.0, 6.7, None, None, None),
    "Random": (12.3, 14.9, 12.3, 14.0, None, None, None),
    "Greedy": (19.7, 16.7, 21.7, 23.4, None, None, None),
    "Random DFS": (10.0, 9.5, 8.3, 10.0, None, None, None),
    "Greedy DFS": (31.1, 23.8, 22.7, 51.8, None, None, None),
}
"""Navigation and sentence search (sec. 5.2)."""

TABLE4_COLUMNS = ("5", "10", "16", "20", "sentence 5", "sentence 10", "sentence 16", "sentence 20")
TABLE4: dict[str, Figures] = {
    "RoBERTa + Feed-forward": (85.5, 80.1, None, 71.5, 91.2, 88.9, None, 77.5),
    "RoBERTa + Transformer": (85.3, 88.3, None, 87.9, 81.6, 75.4, None, 70.9),
    "Embed train + Feed-forward": (96.1, 94.1, None, 89.8, 96.3, 92.8, None, 90.2),
    "Embed train + Transformer": (93.5, 90.6, None, 92.2, 93.9, 86.3, None, 79.7),
    "WebNav": (None, None, None, None, None, None, 12.5, None),
}
"""The English Wikipedia, 38 million blocks (sec. 5.3), beside what it quotes of Nogueira & Cho (2016), 12 million."""

TABLE7: dict[str, tuple[str, str, float]] = {
    "RFBC": ("E_out T", "yes", 85.3),
    "Backwards BC": ("E_out T", "yes", 2.3),
    "Shortest path BC": ("E log V + E_out T", "no", 86.7),
    "RL": ("E_out T", "yes", 41.4),
    "Random": ("T", "yes", 12.3),
    "Greedy": ("E_out T", "yes", 19.7),
    "Random DFS": ("T", "yes", 10.0),
    "Greedy DFS": ("E_out T", "yes", 31.1),
}
"""Asymptotic cost, whether it scales, and success at 5 steps (app. E)."""

TABLE5_COLUMNS = ("Precision@5", "Recall@5", "F1@5")
TABLE5: dict[str, Figures] = {
    "BM25 + TF-IDF": (0.33, 0.40, 0.36),
    "BM25 + RFBC + TF-IDF": (0.38, 0.55, 0.46),
    "BM25 + RFBC + BigBird": (0.71, 0.75, 0.73),
    "Stammbach (2021)": (0.26, 0.94, 0.41),
}
"""FEVER's development set, evidence alone (sec. 5.4); the last reads every link of what was retrieved."""

TABLE6_COLUMNS = ("Recall@1", "Recall@2", "Recall@3", "Recall@4", "Recall@5")
TABLE6: dict[str, Figures] = {
    "RocketQA": (32.7, 43.8, 51.7, 58.3, 62.5),
    "BM25": (11.1, 17.3, 21.8, 24.9, 27.3),
    "BM25 + BigBird": (22.2, 30.2, 35.1, 38.7, 41.2),
    "BM25 + RFBC + BigBird": (31.6, 41.3, 46.6, 49.8, 51.6),
    "Improvement": (42.3, 36.7, 32.7, 28.7, 25.2),
}
"""Natural Questions, gold passages, percent (sec. 5.5); the improvement is of the row above over the one before it."""
