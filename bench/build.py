"""How long does a whole build take? Beside decompressing the same file with Python's bz2 on one core, in one run.

python bench/build.py DUMP.xml.bz2 --json bench/results/build_HARDWARE_DATE.json
"""

import argparse
import bz2
import os
import tempfile
import time
from pathlib import Path

from linkwalk.build.build import build
from linkwalk.progress import Progress
from report import report


def seconds_to_unpack(dump: Path) -> tuple[float, int]:
    started, size = time.perf_counter(), 0
    with bz2.open(dump) as file:
        while block := file.read(1 << 20):
            size += len(block)
    return time.perf_counter() - started, size


def seconds_to_build(dump: Path, workers: int) -> tuple[float, dict[str, int]]:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        result = build([dump], Path(folder) / "wiki", workers=workers, progress=Progress(quiet=True))
        return time.perf_counter() - started, result.manifest["counts"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dump", type=Path)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--repeat", type=int, default=3, help="take the best of this many runs, interleaved")
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args()
    unpacking, building = [], []
    for _ in range(arguments.repeat):
        took, size = seconds_to_unpack(arguments.dump)
        unpacking.append(took)
        took, counts = seconds_to_build(arguments.dump, arguments.workers)
        building.append(took)
    sizes = {"dump": arguments.dump.name, "xml_mb": size / 1e6, "workers": arguments.workers, **counts}
    results = {
        "bz2 on one core, s": min(unpacking),
        "build, s": min(building),
        "build / bz2": min(building) / min(unpacking),
        "build, MB of XML/s": size / 1e6 / min(building),
        "build, blocks/s": counts["nodes"] / min(building),
    }
    report("build", sizes, results, arguments.json)


if __name__ == "__main__":
    main()
