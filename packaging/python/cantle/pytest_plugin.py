"""Fixtures for pytest: a server, and its connection string.

In the file of settings, ``cantle_scope`` says how long a server lives (session unless given;
function is a new and empty one for each test, which takes some milliseconds), and
``cantle_args`` has settings of ``cantle serve``. Each worker of pytest-xdist has servers of its own.
"""

import typing

import pytest

import cantle as _cantle

_SCOPES = ("session", "package", "module", "class", "function")


def pytest_addoption(parser: pytest.Parser) -> None:
    about = "how long a server of the fixture cantle lives: " + ", ".join(_SCOPES)
    parser.addini("cantle_scope", about, default="session")
    parser.addini("cantle_args", "settings of `cantle serve` for the fixture cantle", type="args", default=[])
    parser.getgroup("cantle").addoption("--cantle-scope", choices=_SCOPES, help=about)


def _scope(fixture_name: str, config: pytest.Config) -> str:
    scope = config.getoption("cantle_scope", None) or config.getini("cantle_scope")
    if scope not in _SCOPES:
        raise pytest.UsageError(f"cantle_scope is one of {', '.join(_SCOPES)}, not {scope}")
    return scope


@pytest.fixture(scope=_scope)
def cantle(pytestconfig: pytest.Config) -> typing.Iterator[_cantle.Server]:
    """A server: its uri, cosmos_uri and process."""
    server = _cantle.serve(*pytestconfig.getini("cantle_args"))
    yield server
    server.stop()


@pytest.fixture(scope=_scope)
def cantle_uri(cantle: _cantle.Server) -> str:
    """The connection string of a server."""
    return cantle.uri
