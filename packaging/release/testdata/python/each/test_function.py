"""A new server for each test."""

import pymongo
import pytest

seen = set()


@pytest.mark.parametrize("i", range(4))
def test_new_and_empty(cantle, cantle_uri, i):
    assert cantle.process.pid not in seen
    seen.add(cantle.process.pid)
    with pymongo.MongoClient(cantle_uri) as client:
        assert "shop" not in client.list_database_names()
        client.shop.items.insert_one({})
