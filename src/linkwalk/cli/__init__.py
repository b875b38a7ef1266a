"""The verbs. One module each; what all of them share is here and in ``output``.

Errors a user can cause end in one line on standard error and exit status 2, never in a traceback.
"""

import errno
import os
import sys


def main(args: list[str] | None = None) -> None:
    """Run the command line; the entry point of ``linkwalk``."""
    from linkwalk.cli.app import app
    from linkwalk.errors import LinkwalkError

    try:
        app(args)
    except LinkwalkError as error:
        _fail(str(error))
    except KeyboardInterrupt:
        print("interrupted: run the same command again to go on from what is finished", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            where = f" ({error.filename})" if error.filename else ""
            _fail(f"the disk is full{where}: free some space and run the same command again")
        _fail(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))


def _fail(message: str) -> None:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(2)
