"""One server for the run of a worker."""

import os

import pymongo
import pytest

seen = set()


@pytest.fixture(scope="session")
def client(cantle_uri):
    with pymongo.MongoClient(cantle_uri) as client:
        yield client


@pytest.mark.parametrize("i", range(6))
def test_one_server(client, cantle, cantle_uri, i):
    assert cantle.uri == cantle_uri
    seen.add(cantle.process.pid)
    assert len(seen) == 1
    items = client.shop[f"items_{os.getpid()}"]
    assert items.insert_one({"_id": i}).inserted_id == i
    hello = client.admin.command("hello")
    assert hello["setName"] == "rs0" and hello["isWritablePrimary"]


def test_transaction(client):
    items = client.shop.paid
    with client.start_session() as session:
        with pytest.raises(KeyError):
            with session.start_transaction():
                items.insert_one({"_id": 1}, session=session)
                raise KeyError
    assert items.count_documents({}) == 0


def test_settings(client, cantle):
    with pymongo.MongoClient(cantle.cosmos_uri) as cosmos:
        assert cosmos.admin.command("hello")["setName"] == "globaldb"
    assert client.admin.command({"customAction": "Clock", "stop": True})["ok"] == 1
