"""What a format needs is imported where it is used: a machine that lacks it reads the other formats."""

import subprocess
import sys
from pathlib import Path

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("selectolax", "markdown_it", "yaml")))
from pathlib import Path
from linkwalk.errors import InputError
from linkwalk.build.build import build
there = Path(sys.argv[1])
print(build([there / "pages.jsonl"], there / "wiki").manifest["counts"]["articles"])
for name in ("markdown", "titled", "html"):
    try:
        build([there / name], there / f"{name}-wiki")
    except InputError as error:
        print(error)
"""


def test_a_format_needs_only_its_own_packages(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text('{"title": "Tea", "text": "A drink of many lands."}\n')
    pages = {"markdown/a.md": "# Tea\n\nA drink.", "titled/a.md": "---\ntitle: Tea\n---\nA drink.",
             "html/a.html": "<title>Tea</title><p>A drink.</p>"}  # fmt: skip
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "1",
        "markdown-it-py is not installed: pip install markdown-it-py",
        "PyYAML is not installed: pip install pyyaml",
        "selectolax is not installed: pip install selectolax",
    ]
