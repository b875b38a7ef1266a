"""Tests, each on one thread: texts and batches this small gain nothing from more, and workers would fight for cores."""

import os

os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}  # before anything reads them
