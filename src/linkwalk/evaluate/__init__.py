"""Tasks, metrics with intervals, and agents compared on the same episodes (sec. 4.1, 5.2)."""

from linkwalk.evaluate.compare import Result, compare
from linkwalk.evaluate.metrics import Scores, failure_ratio, failure_ratio_interval, score, wilson
from linkwalk.evaluate.tasks import (
    SAMPLINGS,
    TASKS,
    SentenceQueries,
    TaskConfig,
    draw_episodes,
    draw_sentences,
)

__all__ = [
    "SAMPLINGS",
    "TASKS",
    "Result",
    "Scores",
    "SentenceQueries",
    "TaskConfig",
    "compare",
    "draw_episodes",
    "draw_sentences",
    "failure_ratio",
    "failure_ratio_interval",
    "score",
    "wilson",
]
