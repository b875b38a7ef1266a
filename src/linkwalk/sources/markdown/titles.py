"""What a page of Markdown is called: its front matter says it, else its first main heading, else its file's name."""

import posixpath
import re

from linkwalk.sources.markdown.text import plain

#: How far into a page its title is looked for, in characters.
HEAD_CHARS = 1 << 16
_FENCE_OR_HEADING = re.compile(
    r"^ {0,3}(?:(`{3,}|~{3,})|\#[ \t]+(\S.*)$|([^\s#>-].*)\n {0,3}=+[ \t]*$"
    r"|<h1\b[^<>]*>((?s:.){0,500}?)</h1>)",
    re.MULTILINE | re.IGNORECASE,
)
_CLOSING = re.compile(r"(?<=\s)#++$")


def heading_in(text: str) -> str:
    """The first main heading of a page, without its markup; empty where there is none."""
    at, text = 0, text[:HEAD_CHARS]
    while found := _FENCE_OR_HEADING.search(text, at):
        fence, *titles = found.groups()
        if fence is None:
            return plain(_CLOSING.sub("", next(filter(None, titles), "").strip()))
        end = re.compile(rf"^ {{0,3}}{fence}[`~]*[ \t]*$", re.MULTILINE).search(text, found.end())
        if end is None:
            break
        at = end.end()
    return ""


def name_of(address: str) -> str:
    """The name of a page or a folder, less its ending."""
    name = " ".join(posixpath.basename(address.rstrip("/")).split())
    return name if address.endswith("/") else posixpath.splitext(name)[0]
