"""Below which chance nothing is said to be there: three in four questions that are foreign to a wiki are told so."""

import json
from pathlib import Path

import numpy as np
from reading import desks_for, prepare
from world import Question, World

from linkwalk.downstream.question_sets import NaturalQuestions
from linkwalk.downstream.unanswerable import foreign
from linkwalk.retrieve.judge import HEARD_OF, Judge, JudgeWeights

FOREIGN = {"links-freecad": "freecad", "musique": "musique", "nq-simple": "simple"}
"""Sets whose wikis are asked what EfficientQA asks, and they do not hold."""
COUNT, CAUGHT = 60, 0.75
LEVELS = (0.05, 0.08, 0.1, 0.12, 0.15, 0.18, 0.21, 0.24, 0.27, 0.3, 0.35, 0.4)


def choose_nothing(world: World, data: Path) -> None:
    """Put the lowest level at which as many are caught, on average over wikis, into the weights."""
    path = world.out / f"weights{world.seed}.json"
    weights = JudgeWeights.from_json(json.loads(path.read_text()))
    asked = list(NaturalQuestions().read(data / "nq-efficientqa.jsonl", []))
    shares = []
    for name, wiki in FOREIGN.items():
        some = [
            Question(name, wiki, one.id, one.text, "foreign", [[0]], "block", "tuned", (), [])
            for one in foreign(world.graph(wiki), asked, COUNT)
        ]
        judge = Judge(world.graph_of(name), world.block_reader, weights)
        desks = desks_for(world, name, prepare(world, name, some, False))
        for desk in desks:
            desk.hear(desk.hits.heard(HEARD_OF))
        for _ in judge.read_on(desks, 20):
            pass
        sure = np.array([judge.verdict(desk).sure for desk in desks])
        shares.append([(sure < level).mean() for level in LEVELS])
        print(wiki, {level: round(100 * share) for level, share in zip(LEVELS, shares[-1], strict=True)})
    found = next(level for level, share in zip(LEVELS, np.mean(shares, 0), strict=True) if share >= CAUGHT)
    path.write_text(json.dumps(weights.to_json() | {"nothing": found}) + "\n")
    print("nothing is there below", found)
