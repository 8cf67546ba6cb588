"""The interface from a program, and what is left when one ends."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pymongo

import cantle


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


with cantle.serve() as uri, pymongo.MongoClient(uri) as client:
    client.shop.items.insert_one({"_id": 1})
    assert client.server_info()["version"].startswith("8.0")
    # Weights of collations are packed in what is released, and JavaScript is built otherwise.
    client.shop.words.insert_many([{"_id": w} for w in ("zon", "ärla", "åka", "apa", "漢", "Ökad", "がき", "かき")])
    for locale, want in {"sv": "apa zon åka ärla Ökad かき がき 漢", "de": "åka apa ärla Ökad zon かき がき 漢"}.items():
        found = client.shop.words.find().sort("_id").collation({"locale": locale})
        assert " ".join(w["_id"] for w in found) == want, locale
    assert len(list(client.shop.words.find({"$where": "['ä', 'z'].sort((a, b) => a.localeCompare(b))[0] === 'ä' && this._id.length === 3"}))) == 3

with tempfile.TemporaryDirectory() as folder:
    for round in range(2):
        server = cantle.serve(data=folder, cosmos=True, compat="7.0", replica_set=None)
        with pymongo.MongoClient(server.uri) as client, pymongo.MongoClient(server.cosmos_uri) as cosmos:
            assert client.server_info()["version"].startswith("7.0")
            assert client.shop.items.count_documents({}) == round
            client.shop.items.insert_one({})
            assert cosmos.admin.command("hello")["setName"] == "globaldb"
        server.stop()
        server.stop()
        assert server.process.returncode == 0

try:
    cantle.serve("--partitoins", "4")
    raise SystemExit("a mistyped setting was taken")
except cantle.StartError as e:
    assert "did you mean --partitions?" in str(e), e

# A hundred servers leave no descriptor, thread, process or folder.
def possessions():
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("cantle")]
    children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return len(os.listdir("/proc/self/fd")), threads, children, sorted(os.listdir(tempfile.gettempdir()))


before, took = possessions(), []
for _ in range(100):
    begun = time.perf_counter()
    server = cantle.serve()
    took.append(time.perf_counter() - begun)
    server.stop()
assert possessions() == before, (possessions(), before)
took.sort()
print(f"serve() takes {took[50] * 1000:.1f} ms, one of ten {took[90] * 1000:.1f} ms or more")

# A server does not outlive who started it.
FORGETS = "import cantle, time; server = cantle.serve(); print(server.process.pid, flush=True); time.sleep(60)"
for end in (signal.SIGKILL, signal.SIGTERM):
    with subprocess.Popen([sys.executable, "-c", FORGETS], stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.send_signal(end)
    deadline = time.monotonic() + 5
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(pid), "the server outlives it"
