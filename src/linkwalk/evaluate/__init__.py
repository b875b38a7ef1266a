"""Tasks, metrics with intervals, and agents compared on the same episodes (sec. 4.1, 5.2)."""

from linkwalk.evaluate.compare import Result, compare
from linkwalk.evaluate.intervals import failure_ratio, failure_ratio_interval, wilson
from linkwalk.evaluate.metrics import Scores, score
from linkwalk.evaluate.sentences import SentenceQueries, draw_sentences
from linkwalk.evaluate.tasks import SAMPLINGS, TASKS, TaskConfig, draw_episodes

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
