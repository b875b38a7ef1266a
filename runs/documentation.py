"""How well one finds the way in documentation, handbooks and notes: folders of Markdown, with and without contents.

python runs/documentation.py FOLDER -o DIR                           every folder in FOLDER, embedded with `words`
python runs/documentation.py FOLDER -o DIR --encoder minilm-walks    also with that, and the policy that ships
python runs/documentation.py FOLDER -o DIR --names a b               some of them

Each folder becomes two workspaces, ``DIR/NAME`` and ``DIR/NAME-inline``; what is there already is kept. Rows are the
success of random, greedy-unvisited and greedy-map (with minilm-walks the policy, too) on walks of 5, 10 and 20 steps,
1,000 each, 100 clicks at most. The table is Markdown; ``DIR/results.json`` has all that `linkwalk eval` says.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

AGENTS = {
    "words": ("random", "greedy-unvisited", "greedy-map"),
    "minilm": ("greedy-unvisited", "greedy-map"),
    "minilm-walks": ("greedy-unvisited", "greedy-map", "compass"),
}
KINDS = {"": (), "-inline": ("--no-contents",)}


def linkwalk(*words: object) -> dict[str, Any]:
    """What a command says of itself; where it fails, so does this."""
    command = [sys.executable, "-m", "linkwalk", *map(str, words), "--json", "--quiet"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def measure(folder: Path, out: Path, encoders: list[str], seed: int) -> list[dict[str, Any]]:
    """Build, embed and walk in one folder, with contents and without."""
    rows = []
    for suffix, options in KINDS.items():
        wiki = out / f"{folder.name}{suffix}"
        counts = linkwalk("build", folder, "-o", wiki, *options)["counts"]
        for encoder in encoders:
            linkwalk("embed", wiki, "--encoder", encoder)
            agents = [word for agent in AGENTS[encoder] for word in ("--agent", agent)]
            found = linkwalk("eval", wiki, *agents, "--embeddings", encoder, "--seed", seed)["results"]
            rows += [
                {"name": folder.name, "contents": not suffix, "encoder": encoder, "counts": counts, **row}
                for row in found
            ]
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """A line for each folder and kind of graph, a column for each agent and encoder."""
    columns = list(dict.fromkeys((row["encoder"], row["agent"]) for row in rows))
    heads = [agent if agent == "random" else f"{agent}, {encoder}" for encoder, agent in columns]
    lines = [
        "| collection | contents | blocks | edges | " + " | ".join(heads) + " |",
        "|---" * (4 + len(heads)) + "|",
    ]
    for name, contents in dict.fromkeys((row["name"], row["contents"]) for row in rows):
        own = [row for row in rows if (row["name"], row["contents"]) == (name, contents)]
        cells = [
            " / ".join(
                f"{100 * row['success']:.1f}" for row in own if (row["encoder"], row["agent"]) == column
            )
            for column in columns
        ]
        counts = own[0]["counts"]
        head = [name, "yes" if contents else "no", f"{counts['nodes']:,}", f"{counts['edges']:,}"]
        lines.append("| " + " | ".join(head + cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--names", nargs="*")
    parser.add_argument("--encoder", choices=AGENTS, action="append", default=["words"])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    names = given.names or sorted(path.name for path in given.folder.iterdir() if path.is_dir())
    rows: list[dict[str, Any]] = []
    given.out.mkdir(parents=True, exist_ok=True)
    for name in names:
        rows += measure(given.folder / name, given.out, given.encoder, given.seed)
        (given.out / "results.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
        print(f"{name}: done", file=sys.stderr)
    print(table(rows))


if __name__ == "__main__":
    main()
