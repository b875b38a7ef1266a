"""Every error a user can cause, as one small tree.

LinkwalkError            anything below: the command line prints its one line and exits with status 2
├── InputError           a file, a folder or an option that cannot be used
└── ArtifactError        a workspace artefact that is missing, stale or of another format
"""


class LinkwalkError(Exception):
    """An error whose message is one line that says what is wrong and what to do."""


class InputError(LinkwalkError):
    """The input cannot be used: a wrong path, a broken dump, contradicting options."""


class ArtifactError(LinkwalkError):
    """An artefact is missing, was made by another format version, or its inputs changed."""
