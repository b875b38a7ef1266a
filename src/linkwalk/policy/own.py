"""Heads of one's own: those that whoever runs this process has named, and no others.

A manifest records a head's name, and a name alone runs nothing: a policy with such a head opens where the head has been
named, on the command line or by ``use_head`` in Python.
"""

from typing import TYPE_CHECKING

from linkwalk.errors import InputError
from linkwalk.parts import import_part, is_part

if TYPE_CHECKING:
    from torch import nn

OWN: "dict[str, type[nn.Module]]" = {}
"""By the names that manifests record, ``package.module:Name``."""


def use_head(head: "str | type[nn.Module]") -> str:
    """Make a head known to this process, given as a class or as ``package.module:Name``; what it is called.

    Names of heads that are built in are taken as they are.
    """
    if isinstance(head, str) and not is_part(head):
        return head
    found = import_part(head, "policy head") if isinstance(head, str) else head
    from torch import nn

    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        raise InputError(f"{head} is no policy head: a head is a class, made from torch.nn.Module")
    home = f"{found.__module__}:{found.__qualname__}"
    name = head if isinstance(head, str) else home
    OWN[name] = OWN[home] = found
    return name
