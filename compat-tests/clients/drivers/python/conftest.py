"""Prints the line per area that the runner reads: test_crud of test_pymongo.py is `pymongo crud ok`."""
import os
from urllib.parse import urlsplit

import pytest

URI = os.environ["CANTLE_URI"]
ONE = os.environ.get("CANTLE_ONE_URI", URI)
COSMOS = os.environ.get("CANTLE_PERSONALITY") == "cosmos"


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if report.when == "teardown" or (report.when == "setup" and report.passed):
        return
    file, _, test = report.nodeid.partition("::test_")
    client = os.path.basename(file).removeprefix("test_").removesuffix(".py").replace("_", "-")
    if report.failed:
        said = "FAIL " + str(report.longreprtext).replace("\n", " | ")
    elif report.skipped:
        said = "skip " + report.longrepr[2].removeprefix("Skipped: ")
    else:
        said = "ok"
    print(f"\n{client} {test} {said}")


def elsewhere(host, path, **options):
    """A connection string of the same server with nothing but who logs in, what is trusted, and these options."""
    parts = urlsplit(ONE)
    login = parts.netloc.rpartition("@")
    kept = [o for o in parts.query.split("&") if o.startswith(("tls", "auth"))]
    return f"mongodb://{login[0]}{login[1]}{host}:{parts.port}/{path}?" + "&".join(kept + [f"{k}={v}" for k, v in options.items()])


def with_options(more, uri=URI):
    return uri + ("&" if "?" in uri else "?") + more
