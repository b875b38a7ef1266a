"""One folder per artefact: a manifest, checksums, fingerprints of what it was made from, and one way to write it.

An artefact is written under a lock (``locked``), into a folder beside its place, whose manifest comes last (``seal``)
with the checksum of every file; once all of it is on the disk it takes its place in one step (``publish``), so a killed
run leaves either the old artefact or the new one. Long jobs go on from pieces (``write_piece``): what is not whole is
made again. Whoever opens an artefact looks at it first (``look_at``); what comes from its files is taken apart by
``parsing``, and an error that nobody expected is explained by the damage behind it (``explain``).
"""

from linkwalk.artifact import seen
from linkwalk.artifact.files import (
    checksum,
    digest,
    is_whole,
    replacing,
    sync,
    to_json,
    write_json,
    write_piece,
)
from linkwalk.artifact.locks import locked
from linkwalk.artifact.looking import Fault, explain, faults, look_at
from linkwalk.artifact.manifest import FORMAT, FORMATS, MANIFEST, contents, publish, read_manifest, seal
from linkwalk.artifact.parsing import in_words, parsing, read_json
from linkwalk.artifact.places import clear, steady, tidy_up, writing

__all__ = [
    "FORMAT",
    "FORMATS",
    "MANIFEST",
    "Fault",
    "checksum",
    "clear",
    "contents",
    "digest",
    "explain",
    "faults",
    "in_words",
    "is_whole",
    "locked",
    "look_at",
    "parsing",
    "publish",
    "read_json",
    "read_manifest",
    "replacing",
    "seal",
    "seen",
    "steady",
    "sync",
    "tidy_up",
    "to_json",
    "write_json",
    "write_piece",
    "writing",
]
