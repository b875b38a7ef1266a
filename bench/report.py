"""How a benchmark reports: lines for people, one dated JSON file for the record."""

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def hardware() -> dict[str, Any]:
    """The processor's name and how many cores this process may use."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line
        ]
        model = names[0] if names else model
    return {"cpu": model, "cores": os.cpu_count()}


def report(name: str, sizes: dict[str, Any], results: dict[str, Any], path: Path | None) -> None:
    """Print the results and, where a path is given, write them down."""
    for key, value in results.items():
        print(f"  {key:<44} {value:>16,.3f}" if isinstance(value, float) else f"  {key:<44} {value!s:>16}")
    if path is None:
        return
    record = {
        "benchmark": name,
        "date": datetime.now(UTC).date().isoformat(),
        "hardware": hardware(),
        "python": platform.python_version(),
        "sizes": sizes,
        "results": results,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n")
