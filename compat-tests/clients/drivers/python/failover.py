"""Two clients of PyMongo write until the standard input ends. Each acknowledged write is a line of output: client, number,
operation time of the reply, and the time of its arrival in milliseconds. There is no code for errors but a line that begins with "error"."""
import os
import sys
import threading
import time

from pymongo import MongoClient

PER_DOC = 50
ended = threading.Event()


def write(client, name):
    coll = client.shop.load
    with client.start_session() as session:
        n = 0
        while not ended.wait(0.005):
            try:
                coll.update_one({"_id": {"w": name, "part": n // PER_DOC}}, {"$push": {"n": n}}, upsert=True, session=session)
                sys.stdout.write(f"{name} {n} {session.operation_time.time} {session.operation_time.inc} {int(time.time() * 1000)}\n")
            except Exception as error:
                sys.stdout.write("error " + f"{name} {n} {error}".replace("\n", " ") + "\n")
            sys.stdout.flush()
            n += 1


with MongoClient(os.environ["CANTLE_URI"]) as client:
    threads = [threading.Thread(target=write, args=(client, f"python{w}")) for w in range(2)]
    for t in threads:
        t.start()
    sys.stdin.read()
    ended.set()
    for t in threads:
        t.join()
