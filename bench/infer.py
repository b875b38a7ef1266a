"""How fast are texts read in numpy, and what does beginning cost? Torch is the peer, in the same run.

python bench/infer.py [--cores 2] [--seconds 2] [--json OUT]

Each reads in processes of its own, by turns, on as many cores: what opening takes (seconds of CPU, and memory), then
texts a second in batches of 1, 32 and 256 of 10 to 128 tokens, and the cross-encoder's pairs. Words are MiniLM's own.
"""

import argparse
import json
import multiprocessing
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from report import hardware

SIZES = [(1, 10), (1, 128), (32, 10), (32, 64), (32, 128), (256, 10), (256, 64)]
WAYS = ("numpy", "torch")
TURNS = 3


def texts_of(words: list[str], count: int, tokens: int, seed: int) -> list[str]:
    """Texts of up to so many tokens, half of that at least: real batches are mixed."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(max(1, tokens // 2), tokens - 1, count)
    return [" ".join(rng.choice(words, length)) for length in lengths]


def measure(way: str, cores: int, seconds: float, results: Any) -> None:
    """Open, warm up, read."""
    os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:cores])
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if way == "numpy":
        from linkwalk.embed.encoder import open_encoder as opened
    else:
        import torch

        from linkwalk.embed.transformer import open_transformer as opened

        torch.set_num_threads(cores)
    encoder = opened("minilm", device="cpu")
    encoder.encode(["a question of ten words or so, to begin with"])
    found: dict[str, Any] = {"first answer, CPU s": time.process_time() - began}
    found["first answer, MB"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    folder = encoder.model.path if way == "numpy" else encoder.folder
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    words = [word for word in vocabulary if word.isascii() and word.isalpha()]
    for count, tokens in SIZES:
        batches = [texts_of(words, count, tokens, seed) for seed in range(8)]
        encoder.encode(batches[0])
        found[f"{count} x {tokens}"] = rate(lambda batch: encoder.encode(batch), batches, count, seconds)
    queries, passages = (
        [texts_of(words, 20, n, seed) for seed in range(8)] for seed, n in enumerate((10, 60))
    )
    pairs = list(zip(queries, passages, strict=True))
    found["20 pairs"] = rate(lambda pair: encoder.pairs(*pair), pairs, 20, seconds)
    results.put(found)


def rate(read: Any, batches: list[Any], count: int, seconds: float) -> float:
    """Texts a second."""
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        read(batches[done % len(batches)])
        done += 1
    return count * done / (time.perf_counter() - began)


def main() -> None:
    """By turns, the median of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each size")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    turns: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(TURNS):
        for way in WAYS:
            results = context.Queue()
            process = context.Process(target=measure, args=(way, arguments.cores, arguments.seconds, results))
            process.start()
            turns[way].append(results.get())
            process.join()
    rows = {}
    for name in turns["numpy"][0]:
        ours, theirs = (float(np.median([turn[name] for turn in turns[way]])) for way in WAYS)
        rows[name] = {"numpy": round(ours, 2), "torch": round(theirs, 2), "ratio": round(ours / theirs, 2)}
        print(f"{name:22} numpy {ours:9.2f}   torch {theirs:9.2f}   ratio {ours / theirs:.2f}")
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"hardware": hardware(), "cores": arguments.cores, "rows": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
