"""A socket to listen at, or one line on why not."""

import errno
import socket

from linkwalk.errors import InputError

BACKLOG = 2048


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """A socket that takes connections from now on; a port that is taken is an error, and ``option`` names another."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror:
        raise InputError(f"no address named {host!r}: give one of this machine with --host") from None
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        known = {
            errno.EADDRINUSE: f"port {port} is taken: choose another with {option} (0: any that is free)",
            errno.EACCES: f"port {port} is not for everybody: choose one above 1023 with {option}",
            errno.EADDRNOTAVAIL: f"{host} is no address of this machine: give one with --host",
        }
        unknown = f"cannot listen at {host}, port {port}: {error.strerror}"
        raise InputError(known.get(error.errno or 0, unknown)) from None
    listening.set_inheritable(True)
    return listening


def url_of(listening: socket.socket) -> str:
    """What to type into a browser."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
