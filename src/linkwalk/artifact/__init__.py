"""One folder per artefact: a manifest, checksums, fingerprints of what it was made from, and one way to write it.

An artefact is written under a lock (``locked``), into a folder beside its place, whose manifest comes last (``seal``)
with the checksum of every file; once all of it is on the disk it takes its place in one step (``publish``), so a killed
run leaves either the old artefact or the new one. Long jobs go on from pieces (``write_piece``): what is not whole is
made again. Whoever opens an artefact looks at it first (``look_at``); what comes from its files is taken apart by
``parsing``, and an error that nobody expected is explained by the damage behind it (``explain``).
"""

from linkwalk.artifact import notes
from linkwalk.artifact.checks import Fault, explain, faults, look_at
from linkwalk.artifact.failures import parsing, read_json, writing
from linkwalk.artifact.files import (
    Json,
    checksum,
    digest,
    is_whole,
    replacing,
    sync,
    to_json,
    write_json,
    write_piece,
)
from linkwalk.artifact.folders import clear, in_one_step, locked, publish, tidy_up
from linkwalk.artifact.manifest import FORMAT, FORMATS, MANIFEST, contents, read_manifest, seal, steady

__all__ = [
    "FORMAT",
    "FORMATS",
    "MANIFEST",
    "Fault",
    "Json",
    "checksum",
    "clear",
    "contents",
    "digest",
    "explain",
    "faults",
    "in_one_step",
    "is_whole",
    "locked",
    "look_at",
    "notes",
    "parsing",
    "publish",
    "read_json",
    "read_manifest",
    "replacing",
    "seal",
    "steady",
    "sync",
    "tidy_up",
    "to_json",
    "write_json",
    "write_piece",
    "writing",
]
