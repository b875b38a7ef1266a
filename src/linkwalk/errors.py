"""Every error a user can cause, as one small tree.

LinkwalkError            anything below: the command line prints its one line and exits with status 2
├── InputError           a file, a folder or an option that cannot be used
└── ArtifactError        a workspace artefact that is missing, stale or of another format
    ├── DamagedError     a file of it is not as it was written
    └── SuspectError     it holds what it should not: perhaps a file of it is damaged
"""

from pathlib import Path


class LinkwalkError(Exception):
    """An error whose message is one line that says what is wrong and what to do."""


class InputError(LinkwalkError):
    """The input cannot be used: a wrong path, a broken dump, contradicting options."""


class ArtifactError(LinkwalkError):
    """An artefact is missing, was made by another format version, or its inputs changed."""


class DamagedError(ArtifactError):
    """A file of an artefact is not as it was written."""

    def __init__(self, path: Path, what: str, remedy: str) -> None:
        """``what`` is wrong with the file at ``path``, and ``remedy`` mends it: "run `linkwalk index WIKI --force`"."""
        super().__init__(f"{path} is damaged ({what}): {remedy}")
        self.path, self.what, self.remedy = path, what, remedy


class SuspectError(ArtifactError):
    """An artefact holds what it should not; whoever shows this first looks for damage (``artifact.explain``)."""
