"""PyMongo, the blocking half."""
import datetime
import re
import threading
import time

import gridfs
import pymongo
import pytest
from bson import Decimal128, Int64, ObjectId
from conftest import COSMOS, ONE, URI, elsewhere, with_options
from pymongo import DeleteOne, IndexModel, InsertOne, MongoClient, ReadPreference, ReplaceOne, UpdateMany, UpdateOne
from pymongo import errors, monitoring
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

DB = "clients_pymongo"


@pytest.fixture
def client():
    with MongoClient(URI, appname="pymongo") as c:
        yield c
        c.drop_database(DB)


@pytest.fixture
def single():
    """A client of one server, where there are several."""
    with MongoClient(ONE, appname="pymongo") as c:
        yield c


@pytest.fixture
def alone(single, request):
    c = single[DB][request.node.name]
    c.drop()
    yield c
    single.drop_database(DB)


@pytest.fixture
def coll(client, request):
    c = client[DB][request.node.name]
    c.drop()
    return c


def refused(code, call, *args, **options):
    with pytest.raises(errors.OperationFailure) as caught:
        call(*args, **options)
    assert caught.value.code == code, caught.value
    return caught.value


def test_connect(client):
    for uri, options in [
        (URI, {}),
        (URI, {"maxPoolSize": 3, "w": "majority", "journal": True, "appname": "x"}),
        (with_options("retryWrites=false&readPreference=primaryPreferred&readConcernLevel=majority"), {}),
        (elsewhere("127.0.0.1", "admin", directConnection="true"), {}),
        (elsewhere("localhost", "some"), {"replicaSet": "globaldb"} if COSMOS else {}),
    ]:
        with MongoClient(uri, **options) as c:
            hello = c.admin.command("hello")
            assert hello["isWritablePrimary"]
            assert hello.get("setName") == "globaldb" if COSMOS else hello["msg"] == "isdbgrid"
            assert c.is_mongos == (not COSMOS and "loadBalanced" not in uri)
    assert client.server_info()["versionArray"][0] == (7 if COSMOS else 8)
    with pytest.raises(errors.ServerSelectionTimeoutError):
        MongoClient("mongodb://127.0.0.1:1/", serverSelectionTimeoutMS=200).admin.command("ping")


def test_crud(coll):
    when = datetime.datetime(2020, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    made = coll.insert_one({"name": "ada", "n": 1, "tags": ["a"], "when": when, "price": Decimal128("1.50"), "big": Int64(2**40)}).inserted_id
    assert isinstance(made, ObjectId)
    assert coll.insert_many([{"_id": 2, "n": 2}, {"_id": 3, "n": 3}]).inserted_ids == [2, 3]
    found = coll.find_one({"name": re.compile("^AD", re.I)})
    assert found["when"] == when.replace(tzinfo=None) and found["price"] == Decimal128("1.50") and isinstance(found["big"], Int64)
    assert coll.update_one({"_id": 2}, {"$set": {"a": 1}, "$inc": {"n": 10}}).modified_count == 1
    assert coll.update_many({}, {"$push": {"tags": "c"}}).matched_count == 3
    assert coll.update_one({"_id": 9}, {"$set": {"n": 9}}, upsert=True).upserted_id == 9
    assert coll.replace_one({"_id": 9}, {"n": 90}).modified_count == 1
    after = coll.find_one_and_update({"_id": 9}, [{"$set": {"n": {"$add": ["$n", 1]}}}], return_document=pymongo.ReturnDocument.AFTER)
    assert after["n"] == 91
    assert coll.find_one_and_replace({"_id": 9}, {"n": 5})["n"] == 91
    assert coll.find_one_and_delete({"_id": 9})["n"] == 5
    assert sorted(coll.distinct("n")) == [1, 3, 12]
    assert coll.count_documents({"n": {"$gte": 3}}) == 2
    assert coll.estimated_document_count() == 3
    assert coll.with_options(write_concern=WriteConcern(w=0)).delete_one({"_id": 2}).acknowledged is False
    assert coll.delete_many({"_id": {"$ne": 2}}).deleted_count == 2


def test_bulk(coll):
    r = coll.bulk_write([
        InsertOne({"_id": 1, "n": 1}), InsertOne({"_id": 2, "n": 2}), UpdateOne({"_id": 1}, {"$inc": {"n": 1}}),
        UpdateMany({}, {"$set": {"seen": True}}), ReplaceOne({"_id": 3}, {"n": 3}, upsert=True), DeleteOne({"_id": 2}),
    ])
    assert (r.inserted_count, r.matched_count, r.modified_count, r.deleted_count, r.upserted_ids) == (2, 3, 3, 1, {4: 3})
    with pytest.raises(errors.BulkWriteError) as stopped:
        coll.insert_many([{"_id": 10}, {"_id": 1}, {"_id": 11}])
    assert stopped.value.details["nInserted"] == 1 and stopped.value.details["writeErrors"][0]["index"] == 1
    with pytest.raises(errors.BulkWriteError) as all_tried:
        coll.insert_many([{"_id": 1}, {"_id": 20}, {"_id": 3}, {"_id": 21}], ordered=False)
    assert [e["index"] for e in all_tried.value.details["writeErrors"]] == [0, 2]
    size = 1000 if COSMOS else 10_000
    coll.insert_many([{"_id": 1000 + i, "pad": "x" * 20} for i in range(size)], ordered=False)
    assert coll.count_documents({}) == size + 5


def test_bulkwrite(client, coll):
    if COSMOS:
        pytest.skip("the service says 7.0, which has no bulkWrite")
    one, other = coll.full_name, f"{DB}.other"
    client[DB].other.drop()
    r = client.bulk_write([
        InsertOne({"_id": 1}, namespace=one), InsertOne({"_id": 2}, namespace=one), InsertOne({"_id": 1}, namespace=other),
        UpdateOne({}, {"$set": {"last": True}}, sort={"_id": -1}, namespace=one), UpdateMany({}, {"$set": {"seen": True}}, namespace=one),
        ReplaceOne({"_id": 3}, {"n": 3}, upsert=True, namespace=other), DeleteOne({"_id": 1}, namespace=one),
    ], verbose_results=True)
    assert (r.inserted_count, r.matched_count, r.modified_count, r.upserted_count, r.deleted_count) == (3, 3, 3, 1, 1)
    assert r.update_results[5].upserted_id == 3
    assert coll.find().to_list() == [{"_id": 2, "last": True, "seen": True}]
    with pytest.raises(errors.ClientBulkWriteException) as some:
        client.bulk_write([InsertOne({"_id": i}, namespace=ns) for ns, i in [(other, 1), (one, 3), (one, 2)]], ordered=False)
    assert [(e["idx"], e["code"]) for e in some.value.write_errors] == [(0, 11000), (2, 11000)]
    assert some.value.partial_result.inserted_count == 1


def test_cursors(client, coll):
    coll.insert_many([{"_id": i, "g": i % 7} for i in range(250)])
    seen = [d["_id"] for d in coll.find().sort("_id", -1).batch_size(20).skip(10).limit(200)]
    assert (len(seen), seen[0], seen[-1]) == (200, 239, 40)
    cursor = coll.find(batch_size=10)
    next(cursor)
    number = cursor.cursor_id
    cursor.close()
    refused(43, coll.database.command, "getMore", Int64(number), collection=coll.name)
    assert len(coll.find({"g": 3}, {"_id": 0}).hint([("_id", 1)]).max_time_ms(5000).to_list()) == 36
    raw = b"".join(coll.find_raw_batches({}, batch_size=100))
    assert len(raw) > 250 * 20
    assert coll.database.list_collection_names() == [coll.name]
    assert DB in client.list_database_names()


def test_indexes(coll):
    coll.insert_many([{"a": 1, "b": 2, "t": "red apple"}, {"a": 2, "b": 1, "t": "pear"}])
    assert coll.create_index([("a", 1), ("b", -1)]) == "a_1_b_-1"
    names = coll.create_indexes([IndexModel("at", expireAfterSeconds=3600), IndexModel([("w.$**", 1)]), IndexModel("b", name="some")])
    assert names == ["at_1", "w.$**_1", "some"]
    info = coll.index_information()
    assert info["at_1"]["expireAfterSeconds"] == 3600 and sorted(info) == ["_id_", "a_1_b_-1", "at_1", "some", "w.$**_1"]
    assert "IXSCAN" in str(coll.find({"a": 1}).explain())
    if not COSMOS:
        coll.create_index([("t", "text")])
        assert coll.count_documents({"$text": {"$search": "apple"}}) == 1
    coll.drop_index("some")
    coll.drop_indexes()
    assert list(coll.index_information()) == ["_id_"]
    refused(27, coll.drop_index, "none")


def test_aggregation(coll):
    coll.insert_many([{"_id": i, "g": i % 4, "v": i, "parts": [{"s": i % 3}, {"s": i % 5}]} for i in range(100)])
    groups = list(coll.aggregate([
        {"$match": {"v": {"$lt": 80}}}, {"$unwind": "$parts"},
        {"$group": {"_id": "$g", "n": {"$sum": 1}, "top": {"$max": "$v"}}}, {"$sort": {"_id": 1}},
    ], allowDiskUse=True, batchSize=2))
    assert groups[3] == {"_id": 3, "n": 40, "top": 79}
    [joined] = coll.aggregate([{"$match": {"_id": 1}},
        {"$lookup": {"from": coll.name, "let": {"g": "$g"}, "as": "same", "pipeline": [
            {"$match": {"$expr": {"$eq": ["$g", "$$g"]}, "v": {"$lt": 10}}}]}},
        {"$project": {"n": {"$size": "$same"}}}])
    assert joined == {"_id": 1, "n": 3}
    [facets] = coll.aggregate([{"$facet": {"c": [{"$count": "n"}], "b": [{"$bucketAuto": {"groupBy": "$v", "buckets": 2}}]}}])
    assert facets["c"] == [{"n": 100}] and [b["count"] for b in facets["b"]] == [50, 50]
    list(coll.aggregate([{"$match": {"g": 0}}, {"$merge": {"into": "merged"}}]))
    assert coll.database.merged.count_documents({}) == 25


def test_gridfs(client):
    db = client[DB]
    db["fs.files"].create_index([("uploadDate", -1)])  # Cosmos DB sorts only by what is indexed
    db["fs.chunks"].create_index([("n", 1)])
    bucket = gridfs.GridFSBucket(db, chunk_size_bytes=64 << 10)
    data = b"cantle " * 150_000
    number = bucket.upload_from_stream("a.bin", data, metadata={"kind": "test"})
    assert bucket.open_download_stream_by_name("a.bin").read() == data
    stream = bucket.open_download_stream(number)
    stream.seek(65_000)
    assert stream.read(135_001) == data[65_000:200_001]
    [file] = bucket.find({"metadata.kind": "test"})
    assert file.length == len(data)
    bucket.rename(number, "b.bin")
    bucket.delete(number)
    assert db["fs.chunks"].count_documents({}) == 0


def test_sessions(client, coll):
    with client.start_session(causal_consistency=True) as session:
        coll.insert_one({"_id": 1}, session=session)
        assert session.operation_time and session.cluster_time
        majority = coll.with_options(read_concern=ReadConcern("majority"))
        assert majority.find_one({}, session=session) == {"_id": 1}
    if not COSMOS:
        with client.start_session(snapshot=True) as session:
            assert coll.count_documents({}, session=session) == 1
            coll.insert_one({"_id": 2})
            assert coll.count_documents({}, session=session) == 1
    with client.start_session() as session:
        coll.find_one({}, session=session)
        client.admin.command("killSessions", [session.session_id])


def test_transactions(client, coll, single):
    coll.insert_many([{"_id": "a", "n": 100}, {"_id": "b", "n": 0}])

    def move(session, amount=1):
        coll.update_one({"_id": "a"}, {"$inc": {"n": -amount}}, session=session)
        coll.update_one({"_id": "b"}, {"$inc": {"n": amount}}, session=session)

    with client.start_session() as session:
        with session.start_transaction(read_concern=ReadConcern("snapshot"), write_concern=WriteConcern("majority")):
            move(session, 10)
            assert coll.find_one({"_id": "b"})["n"] == 0
        session.start_transaction()
        move(session, 50)
        session.abort_transaction()
    assert coll.find_one({"_id": "b"})["n"] == 10

    def worker():
        with client.start_session() as s:
            s.with_transaction(move)

    threads = [threading.Thread(target=worker) for _ in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert coll.find_one({"_id": "b"})["n"] == 18
    with single.start_session() as one, single.start_session() as two:
        same = single[DB][coll.name]
        one.start_transaction()
        two.start_transaction()
        same.update_one({"_id": "a"}, {"$inc": {"n": 1}}, session=one)
        conflict = refused(112, same.update_one, {"_id": "a"}, {"$inc": {"n": 1}}, session=two)
        assert conflict.has_error_label("TransientTransactionError")
        one.abort_transaction()


def test_retryable(single, alone):
    client, coll = single, alone

    def fail(commands, times=1, **data):
        client.admin.command("configureFailPoint", "failCommand", mode={"times": times},
                             data={"failCommands": commands, "appName": "pymongo", **data})

    try:
        fail(["insert"], closeConnection=True)
        coll.insert_one({"_id": 1})
        fail(["update"], errorCode=91, errorLabels=["RetryableWriteError"])
        assert coll.update_one({"_id": 1}, {"$inc": {"n": 1}}).modified_count == 1
        fail(["find"], errorCode=11602)
        assert coll.find_one({"_id": 1}) == {"_id": 1, "n": 1}
        fail(["update"], writeConcernError={"code": 91, "errmsg": "lost", "errorLabels": ["RetryableWriteError"]})
        coll.update_one({"_id": 1}, {"$inc": {"n": 1}})
        assert coll.find_one({"_id": 1}) == {"_id": 1, "n": 2}
        fail(["insert"], errorCode=11601)
        refused(11601, coll.insert_one, {"_id": 2})
    finally:
        client.admin.command("configureFailPoint", "failCommand", mode="off")


PIPELINE = [{"$match": {"operationType": {"$in": ["insert", "update", "replace"]}}},
            {"$project": {"_id": 1, "fullDocument": 1, "ns": 1, "documentKey": 1}}]


def test_changestreams(coll):
    coll.database.create_collection(coll.name)
    with coll.watch(PIPELINE, full_document="updateLookup", max_await_time_ms=200) as stream:
        stream.try_next()
        coll.insert_one({"_id": 1, "n": 1})
        coll.update_one({"_id": 1}, {"$set": {"n": 2}})
        assert stream.next()["documentKey"] == {"_id": 1}
        second = stream.next()
        assert second["fullDocument"] == {"_id": 1, "n": 2}
    coll.insert_one({"_id": 2})
    with coll.watch(PIPELINE, full_document="updateLookup", resume_after=second["_id"]) as stream:
        assert stream.next()["documentKey"] == {"_id": 2}
    if not COSMOS:
        with coll.database.watch() as stream:
            stream.try_next()
            coll.delete_one({"_id": 2})
            coll.drop()
            assert [stream.next()["operationType"] for _ in range(2)] == ["delete", "drop"]


def test_throttling(alone):
    coll = alone
    db = coll.database
    db.command("customAction", "CreateCollection", collection=coll.name, shardKey="k", offerThroughput=400)
    docs = [{"_id": i, "k": f"k{i}", "pad": "x" * 900} for i in range(1000)]
    with pytest.raises(errors.BulkWriteError) as caught:
        coll.insert_many(docs, ordered=False)
    refusals = caught.value.details["writeErrors"]
    assert {e["code"] for e in refusals} == {16500}
    left = [docs[e["index"]] for e in refusals[:100]]
    wait = int(re.search(r"RetryAfterMs=(\d+)", refusals[0]["errmsg"])[1])
    while left:
        time.sleep(wait / 1000 + 0.1)
        try:
            coll.insert_many(left, ordered=False)
            left = []
        except errors.BulkWriteError as e:
            assert {w["code"] for w in e.details["writeErrors"]} == {16500}
            left = [left[w["index"]] for w in e.details["writeErrors"]]
        except errors.OperationFailure as e:  # not even the first was paid for
            assert e.code == 16500
    # One refusal has the labels on which the driver itself tries again; Cosmos DB's have none.
    time.sleep(1.2)
    db.command("customAction", "InjectThrottle", kind="read", nth=1, count=1, retryAfterMs=50, collection=coll.name)
    if COSMOS:
        with pytest.raises(errors.OperationFailure) as caught:
            coll.find_one({"_id": 0, "k": "k0"})
        assert caught.value.code == 16500 and not caught.value.has_error_label("SystemOverloadedError")
    assert coll.find_one({"_id": 0, "k": "k0"})["_id"] == 0
    db.command("customAction", "InjectThrottle", off=True)


def test_errors(coll):
    db = coll.database
    coll.insert_one({"_id": 1})
    with pytest.raises(errors.DuplicateKeyError) as duplicate:
        coll.insert_one({"_id": 1})
    assert duplicate.value.details["keyValue"] == {"_id": 1}
    assert refused(59, db.command, "noSuchCommand").details["codeName"] == "CommandNotFound"
    refused(2, coll.find_one, {"a": {"$nope": 1}})
    refused(40324, coll.aggregate, [{"$nope": 1}])
    with pytest.raises(errors.CollectionInvalid):
        db.create_collection(coll.name)
    refused(26, db.nowhere.rename, "other")
    with pytest.raises(errors.ExecutionTimeout):
        coll.find({"$where": "sleep(300) || true"}).max_time_ms(50).to_list()
    with pytest.raises(errors.NetworkTimeout), MongoClient(URI, socketTimeoutMS=100, retryReads=False) as c:
        c[DB][coll.name].find({"$where": "sleep(1000) || true"}).to_list()
    with pytest.raises(errors.PyMongoError) as slow, pymongo.timeout(0.1):
        coll.find({"$where": "sleep(1000) || true"}).to_list()
    assert slow.value.timeout
    if not COSMOS:
        db.command("collMod", coll.name, validator={"n": {"$type": "int"}})
        with pytest.raises(errors.WriteError) as invalid:
            coll.insert_one({"n": "x"})
        assert invalid.value.code == 121 and invalid.value.details["errInfo"]


def test_compression():
    text = "cantle " * 50_000
    for kind in ["snappy", "zlib", "zstd"]:
        with MongoClient(URI, compressors=kind) as c:
            coll = c[DB].compression
            coll.drop()
            coll.insert_one({"_id": 1, "text": text})
            assert coll.find_one()["text"] == text
            assert c.admin.command("hello", compression=[kind])["compression"] == [kind]


class Connections(monitoring.ConnectionPoolListener):
    """Counts the connections made."""

    made = 0

    def connection_created(self, event):
        self.made += 1

    def ignore(self, event):
        pass

    pool_created = pool_ready = pool_cleared = pool_closed = connection_ready = connection_closed = ignore
    connection_check_out_started = connection_check_out_failed = connection_checked_out = connection_checked_in = ignore


def test_pool(single, alone):
    client, coll = single, alone
    coll.insert_many([{"_id": i} for i in range(50)])
    counted = Connections()
    with MongoClient(ONE, maxPoolSize=5, event_listeners=[counted]) as busy:
        got = []
        threads = [threading.Thread(target=lambda: got.extend(busy[DB][coll.name].find_one({"_id": i}) for i in range(20))) for _ in range(20)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert len(got) == 400 and None not in got and counted.made <= 5
    for i in range(30):
        with MongoClient(ONE) as c:
            c[DB].get_collection(coll.name, read_preference=ReadPreference.NEAREST).find_one({"_id": i})
    deadline = time.time() + 10
    while client.admin.command("serverStatus")["connections"]["current"] >= 20:
        assert time.time() < deadline
        time.sleep(0.1)


class Commands(monitoring.CommandListener):
    """Which servers answered an insert, and how often one failed."""

    def __init__(self):
        self.answered, self.failures = set(), []

    def started(self, event):
        """Nothing to note."""

    def succeeded(self, event):
        if event.command_name == "insert":
            self.answered.add(event.connection_id)

    def failed(self, event):
        self.failures.append(event.connection_id)


def test_hosts(single):
    hosts = sorted(pymongo.uri_parser.parse_uri(URI)["nodelist"])
    if len(hosts) == 1:
        pytest.skip("there is one server")
    first = single.address
    single.admin.command("configureFailPoint", "failCommand", mode="alwaysOn",
                         data={"failCommands": ["insert", "find"], "closeConnection": True, "appName": "hosts"})
    seen = Commands()
    try:
        with MongoClient(URI, appname="hosts", event_listeners=[seen]) as c:
            coll = c[DB].hosts
            coll.drop()
            for i in range(40):
                coll.insert_one({"_id": i})
                assert coll.find_one({"_id": i}) == {"_id": i}
            assert first in seen.failures
            assert sorted(seen.answered) == [h for h in hosts if h != first]
            assert coll.count_documents({}) == 40
            assert c.topology_description.topology_type_name == "Sharded"

            single.admin.command("configureFailPoint", "failCommand", mode="off")
            last = [h for h in hosts if h != first][-1]
            with MongoClient(*last) as c2:
                c2.admin.command("shutdown")
            n = 40

            def work(n):
                coll.insert_one({"_id": n})
                coll.update_many({"_id": n}, {"$set": {"seen": True}})  # which no driver retries
                assert coll.find_one({"_id": n}) == {"_id": n, "seen": True}
                return n + 1

            end = time.time() + 1.5
            while time.time() < end:
                n = work(n)
            seen.answered.clear()
            for _ in range(30):
                n = work(n)
            assert last not in seen.answered
            assert coll.count_documents({}) == n
            c.drop_database(DB)
    finally:
        single.admin.command("configureFailPoint", "failCommand", mode="off")
