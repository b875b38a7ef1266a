"""The verbs. One module each; what all of them share is here and in ``output``.

Errors a user can cause end in one line on standard error and exit status 2, never in a traceback.
"""

import errno
import os
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from linkwalk.errors import LinkwalkError

_RENAMED = {
    "--no-navigation": "--navigation none",
    "--no-links": "--navigation order",
    "--expand": "--navigation expand",
    "--walk": "--navigation walks",
    "--lead": "--navigation lead",
}
"""Options of ``find`` and ``score`` that went by other names."""


def main(args: list[str] | None = None) -> NoReturn:
    """Run the command line; the entry point of ``linkwalk``."""
    _rest_early()
    import typer

    from linkwalk.cli.app import app
    from linkwalk.errors import LinkwalkError

    usage_error: type[Exception] = typer.BadParameter.__mro__[1]  # of whichever click typer brings along
    if isinstance(sys.stdout, TextIOWrapper):
        # A title or path that the terminal cannot show is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
    args = sys.argv[1:] if args is None else args
    try:
        status = app(args or ["--help"], prog_name="linkwalk", standalone_mode=False)
        sys.stdout.flush()
    except usage_error as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "linkwalk"
        option = getattr(error, "option_name", "")
        now = _RENAMED.get(option) if command.endswith((" find", " score")) else None
        said = f"{option} is now {now}" if now else error.format_message()  # type: ignore[attr-defined]
        _fail(f"{said} (see `{command} --help`)")
    except LinkwalkError as error:
        _fail(str(_explained(error)))
    except MemoryError:
        _fail("out of memory: use fewer --workers, or a machine with more")
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        _fail(_in_words(error))
    except BaseException as error:  # a panic of a Rust library is no Exception
        _fail(str(_explained(error)))
    if status == 130:
        print("interrupted: run the same command again to go on from what is finished", file=sys.stderr)
    sys.exit(status if isinstance(status, int) else 0)


def _rest_early() -> None:
    """Let the threads of numpy's BLAS sleep when there is nothing to do, not after they have looked out for 50 ms.

    They look out on all cores, from the moment numpy is loaded. OpenBLAS reads this once: a power of two, in cycles.
    """
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")


def _explained(error: BaseException) -> "LinkwalkError":
    """The damaged file behind an error that nobody expected; one that has no such reason is raised again."""
    from linkwalk.artifact import explain

    if isinstance(error, SystemExit) or (found := explain(error)) is None:
        raise error
    return found


def _in_words(error: OSError) -> str:
    where = f" ({error.filename})" if error.filename else ""
    # numpy tells a short write ("4096 requested and 0 written") without an error number.
    short = error.errno is None and str(error).endswith(" written")
    if short or error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full{where}: free some space and run the same command again"
    if error.errno == errno.EFBIG:
        return f"a file would grow larger than this system allows{where}: raise the limit, or write elsewhere"
    return f"{error.strerror or error}{where}"


def _fail(message: str) -> NoReturn:
    print("error: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(2)
