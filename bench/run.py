"""Runs every benchmark and writes dated results to bench/results.

python bench/run.py [NAME...]     all of them, or: scanner build coverage linker memory store paths shortest walks index
                                  words faults mutations kills

The data are real dumps in ../shared/data, beside the project; a benchmark whose data is not there is passed over.
What needs a GPU is apart, in bench/gpu.py.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from report import hardware

BENCH = Path(__file__).parent
DATA = BENCH.parent.parent / "shared" / "data"
SCHOOLS, COMPUTING = (
    DATA / f"{name}-pages-articles.xml.bz2" for name in ("schools2007", "computing20200328")
)
GAMES, SAMPLES = DATA / "wikispeedia-games.tar.xz", DATA / "genuine-dump-samples.tar.xz"


def machine() -> str:
    """A short name of this machine for file names."""
    found = hardware()
    names = re.findall(r"(?i)\b(epyc|xeon|ryzen|core|apple m\d)\b", found["cpu"])
    return f"{(names or ['cpu'])[0].lower().replace(' ', '-')}-{found['cores']}core"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wiki = Path(folder) / "schools"
        runs: dict[str, tuple[str, list[Path | str], list[Path]]] = {
            "scanner": ("scanner.py", [], [SAMPLES]),
            "build": ("build.py", [SCHOOLS], [SCHOOLS]),
            "coverage": ("coverage.py", [SCHOOLS, wiki, GAMES], [SCHOOLS, GAMES]),
            "linker": ("linker.py", [SCHOOLS], [SCHOOLS]),
            "linker-unseen": ("linker.py", [COMPUTING], [COMPUTING]),
            "memory": ("memory.py", [SCHOOLS], [SCHOOLS]),
            "store": ("store.py", [wiki], [SCHOOLS]),
            "paths": ("paths.py", [], []),
            "shortest": ("shortest.py", [], []),
            "walks": ("walks.py", [], []),
            "index": ("index.py", [wiki], [SCHOOLS]),
            "words": ("words.py", [wiki], [SCHOOLS]),
            "faults": ("faults.py", ["--cases", "180"], []),
            "mutations": ("mutations.py", ["--reading", "500", "--builds", "20"], []),
            "kills": ("kills.py", ["--kills", "30", "--pairs", "2"], []),
        }
        for name, (script, options, needs) in runs.items():
            if arguments.names and name not in arguments.names:
                continue
            if missing := [str(path) for path in needs if not path.exists()]:
                print(f"{name}: passed over, no {', '.join(missing)}")
                continue
            print(f"{name}:", flush=True)
            if wiki in options and not wiki.exists():
                subprocess.run(
                    [sys.executable, "-m", "linkwalk", "build", SCHOOLS, "-o", wiki, "-q"],
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
            result = BENCH / "results" / f"{name}_{machine()}_{datetime.now(UTC).date().isoformat()}.json"
            subprocess.run([sys.executable, BENCH / script, *options, "--json", result], check=True)


if __name__ == "__main__":
    main()
