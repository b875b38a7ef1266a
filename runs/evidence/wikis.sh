#!/usr/bin/env bash
# The workspaces that runs/evidence reads, indexed: wikis.sh DATA WIKIS, with linkwalk on the path.
set -euo pipefail
data=$(realpath "$1") here=$(realpath "$(dirname "$0")/..")
mkdir -p "$2/raw"; cd "$2"
made() { linkwalk build "${@:2}" -o "$1" -q; linkwalk index "$1" -q; }
for name in handbook jargon modwiki kubernetes freecad webplatform dotnet; do
  mkdir -p "raw/$name"; tar xf "$data/markdown/$name.tar.xz" -C "raw/$name"
done
mkdir -p raw/part; cp -r raw/dotnet/dotnet/{architecture,csharp,standard} raw/part/  # a part of it will do
for name in handbook jargon modwiki kubernetes freecad webplatform; do made $name "raw/$name/$name"; done
made dotnet raw/part
tar xf "$data/multihop-qa.tar.xz" -C raw
python -c "
from pathlib import Path
from linkwalk.downstream.question_sets import write_wiki
for wiki, file in (('hotpot', 'hotpotqa_train'), ('musique', 'musique_train')):
    write_wiki(Path(f'raw/multihop/{file}.json'), Path(f'raw/{wiki}.jsonl'))
"
for name in hotpot musique; do made $name "raw/$name.jsonl" --min-chars 1 --keep-list-pages; done
made schools "$data/schools2007-pages-articles.xml.bz2"
made encyclopedia demo
linkwalk build "$data/simplewiki202112-text.jsonl.xz" -o simple-whole --anchors schools -q
python "$here/simple_part.py" "$data/simplewiki202112-text.jsonl.xz" simple-whole raw/simple.jsonl --articles 8000
made simple raw/simple.jsonl --anchors schools
