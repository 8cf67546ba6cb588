"""A MongoDB-compatible server with Cosmos-DB-style partitions and request units.

    import cantle

    with cantle.serve() as uri:
        client = pymongo.MongoClient(uri)

The server runs in a process of its own, keeps its data in memory unless it is given a folder,
and ends with the program that started it, however that comes about. For pytest there are the
fixtures ``cantle`` and ``cantle_uri``.
"""

from __future__ import annotations

import collections
import os
import pathlib
import queue
import subprocess
import sys
import threading
from typing import IO, Deque, Iterable, List, Optional, Type, Union

__all__ = ["Server", "StartError", "binary", "serve"]

# How long a server may take to end after it was told to, in seconds, and how many lines of
# its log are kept to say why it did not start.
_STOP_LIMIT = 20.0
_LOG_LINES = 100


class StartError(RuntimeError):
    """The server did not start; the text says why."""


def binary() -> str:
    """The path of the binary: that of the environment variable CANTLE_BINARY, or of this package."""
    if named := os.environ.get("CANTLE_BINARY"):
        return named
    path = pathlib.Path(__file__).parent / "bin" / ("cantle.exe" if sys.platform == "win32" else "cantle")
    if not path.exists():
        raise StartError(f"{path} is missing: this package was not installed from a wheel for this platform; install one, or set "
                         "CANTLE_BINARY to the path of a cantle that you have built")
    return str(path)


class Server:
    """A server that runs. As a context manager it gives its connection string, and ends at the end."""

    #: Connection string.
    uri: str
    #: Connection string of the address that looks like Azure Cosmos DB, if there is one.
    cosmos_uri: Optional[str]
    #: The process.
    process: "subprocess.Popen[str]"

    def __init__(self, args: Iterable[str], expect: int, timeout: float) -> None:
        command = [binary(), "serve", "--until-stdin-ends", *args]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace"
        )
        self._log: Deque[str] = collections.deque(maxlen=_LOG_LINES)
        said: "queue.Queue[Optional[str]]" = queue.Queue()
        self._readers = [
            threading.Thread(target=_read, args=(self.process.stdout, said.put), name="cantle-ready", daemon=True),
            threading.Thread(target=_read, args=(self.process.stderr, self._log.append), name="cantle-log", daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        uris: List[str] = []
        while len(uris) < expect:
            try:
                line = said.get(timeout=timeout)
            except queue.Empty:
                self.process.kill()
                raise self._failure(f"it does not serve after {timeout} s") from None
            if line is None:
                raise self._failure(f"it ended with status {self.process.wait()}")
            if line.startswith("cantle ready "):
                uris.append(line.split()[2])
        self.uri = uris[0]
        self.cosmos_uri = uris[1] if expect > 1 else None

    def _failure(self, what: str) -> StartError:
        self.stop()
        log = [line for line in self._log if line is not None]
        why = [line[len("cantle serve: ") :] for line in log if line.startswith("cantle serve: ")]
        return StartError("cantle serve: " + "\n".join(why or [what, *log]))

    def stop(self) -> None:
        """Ends the server; running commands may finish. A second call does nothing."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(_STOP_LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for reader in self._readers:
            reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def __enter__(self) -> str:
        return self.uri

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: object) -> None:
        self.stop()


def _read(stream: IO[str], tell) -> None:
    """Reads lines to the end, and tells None there."""
    for line in stream:
        tell(line.rstrip("\n"))
    tell(None)


def serve(
    *args: str,
    data: Union[str, "os.PathLike[str]", None] = None,
    port: int = 0,
    replica_set: Optional[str] = "rs0",
    cosmos: bool = False,
    compat: Optional[str] = None,
    timeout: float = 30.0,
) -> Server:
    """Starts a server, and returns when it serves.

    args are further settings of ``cantle serve``. data is a folder; without one all is in memory.
    port 0 is any free one. The server is the primary of replica_set, or looks like a mongos if
    that is None. cosmos adds an address that looks like Azure Cosmos DB, compat chooses the release
    of MongoDB that is shown ("7.0").

    Raises StartError with what is wrong.
    """
    settings = ["--listen", f"127.0.0.1:{port}", "--drain", "2s"]
    settings += ["--memory"] if data is None else ["--data", os.fspath(data)]
    if replica_set:
        settings += ["--replica-set", replica_set]
    if cosmos:
        settings += ["--cosmos-listen", "127.0.0.1:0"]
    if compat:
        settings += ["--compat", compat]
    settings += args
    return Server(settings, 1 + any(s.startswith("--cosmos-listen") for s in settings), timeout)
