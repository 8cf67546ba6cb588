"""PyMongo, the asyncio half."""
import asyncio
import re

import gridfs.asynchronous as gridfs
import pytest
from conftest import COSMOS, ONE, URI, with_options
from pymongo import AsyncMongoClient, InsertOne, UpdateOne, errors

DB = "clients_pymongo_async"


def alone(test):
    """The same with a client of one server, where there are several."""
    return inside(test, ONE)


def inside(test, uri=URI):
    """Runs a coroutine with a client and an empty collection."""

    async def whole():
        async with AsyncMongoClient(uri, appname="pymongo-async") as client:
            coll = client[DB][test.__name__]
            await coll.drop()
            await test(client, coll)
            await client.drop_database(DB)

    def run():
        asyncio.run(whole())

    run.__name__ = test.__name__
    return run


async def refused(code, awaited):
    with pytest.raises(errors.OperationFailure) as caught:
        await awaited
    assert caught.value.code == code, caught.value
    return caught.value


@inside
async def test_connect(client, coll):
    for uri in [URI, with_options("maxPoolSize=2&w=majority&readPreference=nearest")]:
        async with AsyncMongoClient(uri) as c:
            hello = await c.admin.command("hello")
            assert hello.get("setName") == "globaldb" if COSMOS else hello["msg"] == "isdbgrid"
    with pytest.raises(errors.ServerSelectionTimeoutError):
        await AsyncMongoClient("mongodb://127.0.0.1:1/", serverSelectionTimeoutMS=200).admin.command("ping")


@inside
async def test_crud(client, coll):
    await coll.insert_one({"_id": 1, "n": 1})
    await coll.insert_many([{"_id": 2, "n": 2}, {"_id": 3, "n": 3}])
    assert (await coll.update_many({}, {"$inc": {"n": 1}})).modified_count == 3
    assert (await coll.update_one({"_id": 4}, {"$set": {"n": 9}}, upsert=True)).upserted_id == 4
    assert (await coll.find_one_and_delete({"_id": 4}))["n"] == 9
    assert await coll.distinct("n") == [2, 3, 4]
    assert (await coll.delete_many({"n": {"$gt": 2}})).deleted_count == 2
    assert await coll.count_documents({}) == 1


@inside
async def test_bulk(client, coll):
    r = await coll.bulk_write([InsertOne({"_id": 1}), UpdateOne({"_id": 1}, {"$set": {"a": 1}})])
    assert (r.inserted_count, r.modified_count) == (1, 1)
    with pytest.raises(errors.BulkWriteError):
        await coll.insert_many([{"_id": 1}, {"_id": 2}], ordered=False)
    assert await coll.estimated_document_count() == 2


@inside
async def test_bulkwrite(client, coll):
    if COSMOS:
        pytest.skip("the service says 7.0, which has no bulkWrite")
    one, other = coll.full_name, f"{DB}.other"
    r = await client.bulk_write([InsertOne({"_id": 1}, namespace=one), InsertOne({"_id": 1}, namespace=other),
                                 UpdateOne({}, {"$set": {"a": 1}}, namespace=other)])
    assert (r.inserted_count, r.modified_count) == (2, 1)
    with pytest.raises(errors.ClientBulkWriteException) as stopped:
        await client.bulk_write([InsertOne({"_id": 2}, namespace=one), InsertOne({"_id": 1}, namespace=other), InsertOne({"_id": 3}, namespace=one)])
    assert [e["idx"] for e in stopped.value.write_errors] == [1] and await coll.count_documents({}) == 2


@inside
async def test_cursors(client, coll):
    await coll.insert_many([{"_id": i} for i in range(250)])
    assert [d["_id"] async for d in coll.find().sort("_id", -1).batch_size(20)] == list(range(249, -1, -1))
    assert len(await coll.find({"_id": {"$lt": 30}}).batch_size(7).to_list()) == 30
    async with coll.find(batch_size=2) as cursor:
        await cursor.next()


@inside
async def test_indexes(client, coll):
    assert await coll.create_index([("a", 1), ("b", -1)]) == "a_1_b_-1"
    assert sorted(await coll.index_information()) == ["_id_", "a_1_b_-1"]
    await coll.drop_indexes()
    assert len(await (await coll.list_indexes()).to_list()) == 1


@inside
async def test_aggregation(client, coll):
    await coll.insert_many([{"_id": i, "g": i % 4} for i in range(100)])
    groups = [g async for g in await coll.aggregate([{"$group": {"_id": "$g", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}])]
    assert groups == [{"_id": g, "n": 25} for g in range(4)]


@inside
async def test_gridfs(client, coll):
    db = client[DB]
    await db["fs.files"].create_index([("uploadDate", -1)])
    await db["fs.chunks"].create_index([("n", 1)])
    bucket = gridfs.AsyncGridFSBucket(db, chunk_size_bytes=64 << 10)
    data = b"cantle " * 50_000
    number = await bucket.upload_from_stream("a.bin", data)
    assert await (await bucket.open_download_stream(number)).read() == data
    await bucket.delete(number)
    assert await db["fs.chunks"].count_documents({}) == 0


@inside
async def test_sessions(client, coll):
    async with client.start_session() as session:
        await coll.insert_one({"_id": 1}, session=session)
        assert session.operation_time
        assert await coll.find_one({}, session=session) == {"_id": 1}


@inside
async def test_transactions(client, coll):
    await coll.insert_one({"_id": "a", "n": 0})

    async def add(session):
        n = (await coll.find_one({"_id": "a"}, session=session))["n"]
        await coll.update_one({"_id": "a"}, {"$set": {"n": n + 1}}, session=session)

    async def one():
        async with client.start_session() as session:
            await session.with_transaction(add)

    await asyncio.gather(*[one() for _ in range(8)])
    assert (await coll.find_one())["n"] == 8


@alone
async def test_retryable(client, coll):
    try:
        await client.admin.command("configureFailPoint", "failCommand", mode={"times": 1},
                                   data={"failCommands": ["insert"], "closeConnection": True, "appName": "pymongo-async"})
        await coll.insert_one({"_id": 1})
        assert await coll.count_documents({}) == 1
    finally:
        await client.admin.command("configureFailPoint", "failCommand", mode="off")


@inside
async def test_changestreams(client, coll):
    await client[DB].create_collection(coll.name)
    pipeline = [{"$match": {"operationType": {"$in": ["insert", "update", "replace"]}}},
                {"$project": {"_id": 1, "fullDocument": 1, "ns": 1, "documentKey": 1}}]
    async with await coll.watch(pipeline, full_document="updateLookup", max_await_time_ms=200) as stream:
        await stream.try_next()
        await coll.insert_one({"_id": 1})
        assert (await stream.next())["documentKey"] == {"_id": 1}


@alone
async def test_throttling(client, coll):
    db = client[DB]
    await db.command("customAction", "CreateCollection", collection=coll.name, shardKey="k", offerThroughput=400)
    with pytest.raises(errors.BulkWriteError) as caught:
        await coll.insert_many([{"_id": i, "k": i, "pad": "x" * 900} for i in range(1000)], ordered=False)
    refusal = caught.value.details["writeErrors"][0]
    assert refusal["code"] == 16500
    await asyncio.sleep(1.2 + int(re.search(r"RetryAfterMs=(\d+)", refusal["errmsg"])[1]) / 1000)
    await db.command("customAction", "InjectThrottle", kind="read", nth=1, count=1, retryAfterMs=50, collection=coll.name)
    if COSMOS:
        await refused(16500, coll.find_one({"_id": 0, "k": 0}))
    assert (await coll.find_one({"_id": 0, "k": 0}))["_id"] == 0
    await db.command("customAction", "InjectThrottle", off=True)


@inside
async def test_errors(client, coll):
    await coll.insert_one({"_id": 1})
    await refused(11000, coll.insert_one({"_id": 1}))
    await refused(59, client.admin.command("noSuchCommand"))
    await refused(2, coll.find_one({"a": {"$nope": 1}}))
    # A task that is cancelled gives its connection up, and the next has another.
    slow = asyncio.create_task(coll.find({"$where": "sleep(1000) || true"}).to_list())
    await asyncio.sleep(0.1)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert await coll.find_one() == {"_id": 1}


@inside
async def test_compression(client, coll):
    text = "cantle " * 50_000
    for kind in ["snappy", "zlib", "zstd"]:
        async with AsyncMongoClient(URI, compressors=kind) as c:
            await c[DB][coll.name].replace_one({"_id": 1}, {"text": text}, upsert=True)
            assert (await c[DB][coll.name].find_one())["text"] == text


@alone
async def test_pool(client, coll):
    await coll.insert_many([{"_id": i} for i in range(50)])
    async with AsyncMongoClient(ONE, maxPoolSize=5) as c:
        got = await asyncio.gather(*[c[DB][coll.name].find_one({"_id": i % 50}) for i in range(300)])
    assert None not in got
