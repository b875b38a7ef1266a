"""What a scan has put out so far, and the brackets that are open in it.

Output is a list of pieces (see ``lines``), so a construct is dropped by truncating the list. A bracket that may nest
leaves a *frame* on a stack, and its closer goes back to that frame; a bracket that is never closed has already been put
out as text. So nothing is scanned over and over.
"""

from typing import NamedTuple

from linkwalk.sources.wikitext import lines
from linkwalk.sources.wikitext.lines import Anchor, Aside, LinkSpan


class Frame(NamedTuple):
    """An open bracket, and how much had been put out before it."""

    kind: str
    pieces: int
    anchors: int
    asides: int
    target: str
    """Of a link."""
    width: int
    """Of braces."""


class Output:
    """Pieces of text, the links among them, what stands beside them, and the open brackets."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.anchors: list[Anchor] = []
        self.asides: list[Aside] = []
        self.counts: dict[str, int] = {}
        self.frames: list[Frame] = []
        self.open = {"[[": 0, "{{": 0, "{|": 0}

    def push(self, kind: str, target: str = "", width: int = 0) -> None:
        """Remember an open bracket."""
        self.frames.append(Frame(kind, len(self.pieces), len(self.anchors), len(self.asides), target, width))
        self.open[kind] += 1

    def pop(self, kind: str) -> Frame:
        """Go back to the last open bracket of a kind; those opened since are never closed."""
        while True:
            frame = self.frames.pop()
            self.open[frame.kind] -= 1
            if frame.kind == kind:
                return frame

    def take(self, frame: Frame, skip: int = 0) -> tuple[str, list[LinkSpan]]:
        """Take back the text put out since a bracket was opened, less some pieces, with its links."""
        pieces, anchors = self.pieces, self.anchors
        taken = lines.flatten(pieces, anchors[frame.anchors :], frame.pieces + skip)
        del pieces[frame.pieces :], anchors[frame.anchors :]
        if len(self.asides) > frame.asides:  # what was set aside in between now stands here
            self.asides.append(Aside(frame.pieces, []))
        return taken

    def drop(self, frame: Frame, reason: str) -> None:
        """Take back all that was put out since a bracket was opened."""
        lost = len(self.anchors) - frame.anchors
        for aside in self.asides[frame.asides :]:
            lost += sum(len(links) for _, links in aside.lines)
        self.count(reason, lost)
        del self.pieces[frame.pieces :], self.anchors[frame.anchors :], self.asides[frame.asides :]

    def count(self, reason: str, n: int = 1) -> None:
        """Count links that are not among the links."""
        self.counts[reason] = self.counts.get(reason, 0) + n
