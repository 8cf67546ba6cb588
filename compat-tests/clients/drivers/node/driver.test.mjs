// The official Node driver.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GridFSBucket, MongoBulkWriteError, MongoClientBulkWriteError, MongoServerError, ObjectId, ReadPreference } from 'mongodb';
import { area, connected, cosmos, elsewhere, one, refused, uri, withOptions } from './area.mjs';

const check = (name, f) => area('node', name, f);
const dbName = 'clients_node';

// within hands over an empty collection of a client with these options.
async function within(name, use, options = {}, string = uri) {
  return connected(options, async (client) => {
    const db = client.db(dbName);
    await db.collection(name).drop();
    return use(db.collection(name), db, client);
  }, string);
}

check('connect', async () => {
  const host = new URL(one).host;
  for (const string of [
    uri,
    withOptions('appName=clients&maxPoolSize=3&w=majority&journal=true'),
    withOptions('retryWrites=false&retryReads=false&readPreference=primaryPreferred'),
    withOptions('readConcernLevel=majority&wtimeoutMS=1000'),
    elsewhere(host, 'admin', { directConnection: true }),
    elsewhere(`localhost:${host.split(':')[1]}`, 'some_db', { serverSelectionTimeoutMS: 30000, ...(cosmos && { replicaSet: 'globaldb' }) }),
  ]) {
    await connected({}, async (client) => {
      assert.equal((await client.db().command({ ping: 1 })).ok, 1);
      const hello = await client.db().command({ hello: 1 });
      assert.equal(hello.isWritablePrimary, true);
      if (cosmos) assert.equal(hello.setName, 'globaldb');
      else assert.equal(hello.msg, 'isdbgrid');
    }, string);
  }
  await assert.rejects(connected({ serverSelectionTimeoutMS: 200 }, (c) => c.db().command({ ping: 1 }), 'mongodb://127.0.0.1:1/'),
    { name: 'MongoServerSelectionError' });
});

check('crud', () => within('crud', async (coll) => {
  const id = (await coll.insertOne({ name: 'ada', n: 1, tags: ['a', 'b'], when: new Date(0), deep: { x: [{ y: 1 }, { y: 2 }] } })).insertedId;
  assert.ok(id instanceof ObjectId);
  assert.equal((await coll.insertMany([{ _id: 2, n: 2 }, { _id: 3, n: 3 }])).insertedCount, 2);
  assert.deepEqual((await coll.findOne({ _id: id })).deep, { x: [{ y: 1 }, { y: 2 }] });
  assert.deepEqual(await coll.findOne({ 'deep.x.y': 2 }, { projection: { _id: 0, name: 1 } }), { name: 'ada' });
  assert.equal((await coll.updateOne({ _id: 2 }, { $set: { a: 1 }, $inc: { n: 10 } })).modifiedCount, 1);
  assert.equal((await coll.updateMany({}, { $push: { tags: 'c' } })).matchedCount, 3);
  assert.equal((await coll.updateOne({ _id: 9 }, { $set: { n: 9 } }, { upsert: true })).upsertedId, 9);
  assert.equal((await coll.replaceOne({ _id: 9 }, { n: 90 })).modifiedCount, 1);
  assert.equal((await coll.findOneAndUpdate({ _id: 9 }, [{ $set: { n: { $add: ['$n', 1] } } }], { returnDocument: 'after' })).n, 91);
  assert.equal((await coll.findOneAndReplace({ _id: 9 }, { n: 5 })).n, 91);
  assert.equal((await coll.findOneAndDelete({ _id: 9 })).n, 5);
  assert.deepEqual((await coll.distinct('n')).sort((a, b) => a - b), [1, 3, 12]);
  assert.equal(await coll.countDocuments({ n: { $gte: 3 } }), 2);
  assert.equal(await coll.estimatedDocumentCount(), 3);
  assert.equal((await coll.deleteOne({ _id: 2 })).deletedCount, 1);
  assert.equal((await coll.deleteMany({})).deletedCount, 2);
}));

check('bulk', () => within('bulk', async (coll) => {
  const r = await coll.bulkWrite([
    { insertOne: { document: { _id: 1, n: 1 } } },
    { insertOne: { document: { _id: 2, n: 2 } } },
    { updateOne: { filter: { _id: 1 }, update: { $inc: { n: 1 } } } },
    { updateMany: { filter: {}, update: { $set: { seen: true } } } },
    { replaceOne: { filter: { _id: 3 }, replacement: { n: 3 }, upsert: true } },
    { deleteOne: { filter: { _id: 2 } } },
  ]);
  assert.deepEqual([r.insertedCount, r.matchedCount, r.modifiedCount, r.upsertedCount, r.deletedCount], [2, 3, 3, 1, 1]);
  assert.equal(r.upsertedIds[4], 3);
  const stopped = await refused(11000, coll.insertMany([{ _id: 10 }, { _id: 1 }, { _id: 11 }]));
  assert.ok(stopped instanceof MongoBulkWriteError);
  assert.deepEqual([stopped.result.insertedCount, stopped.writeErrors[0].index], [1, 1]);
  const all = await refused(11000, coll.insertMany([{ _id: 1 }, { _id: 20 }, { _id: 3 }, { _id: 21 }], { ordered: false }));
  assert.deepEqual([all.result.insertedCount, all.writeErrors.map((e) => e.index)], [2, [0, 2]]);
  // More than fits into one message; Cosmos DB takes at most 1000 in a batch.
  const size = cosmos ? 1000 : 20_000;
  const many = Array.from({ length: size }, (_, i) => ({ _id: 1000 + i, pad: 'x'.repeat(20) }));
  assert.equal((await coll.insertMany(many, { ordered: false })).insertedCount, size);
  assert.equal(await coll.countDocuments(), size + 5);
}));

check('bulkwrite', () => within('bulkwrite', async (coll, db, client) => {
  if (cosmos) return { skip: 'the service says 7.0, which has no bulkWrite' };
  await db.collection('other').drop();
  const [one, other] = [coll.namespace, `${dbName}.other`];
  const r = await client.bulkWrite([
    { namespace: one, name: 'insertOne', document: { _id: 1 } },
    { namespace: one, name: 'insertOne', document: { _id: 2 } },
    { namespace: other, name: 'insertOne', document: { _id: 1 } },
    { namespace: one, name: 'updateOne', filter: {}, update: { $set: { last: true } }, sort: { _id: -1 } },
    { namespace: one, name: 'updateMany', filter: {}, update: { $set: { seen: true } } },
    { namespace: other, name: 'replaceOne', filter: { _id: 3 }, replacement: { n: 3 }, upsert: true },
    { namespace: one, name: 'deleteOne', filter: { _id: 1 } },
  ], { verboseResults: true });
  assert.deepEqual([r.insertedCount, r.matchedCount, r.modifiedCount, r.upsertedCount, r.deletedCount], [3, 3, 3, 1, 1]);
  assert.equal(r.updateResults.get(5).upsertedId, 3);
  assert.deepEqual(await coll.find().toArray(), [{ _id: 2, last: true, seen: true }]);
  const some = await client.bulkWrite([[other, 1], [one, 3], [one, 2]].map(([namespace, _id]) => ({ namespace, name: 'insertOne', document: { _id } })),
    { ordered: false }).catch((e) => e);
  assert.ok(some instanceof MongoClientBulkWriteError, some.stack);
  assert.deepEqual([[...some.writeErrors.keys()], some.writeErrors.get(2).code, some.partialResult.insertedCount], [[0, 2], 11000, 1]);
}));

check('cursors', () => within('cursors', async (coll, db) => {
  await coll.insertMany(Array.from({ length: 250 }, (_, i) => ({ _id: i, g: i % 7 })));
  const seen = [];
  for await (const doc of coll.find().sort({ _id: -1 }).batchSize(20).skip(10).limit(200)) seen.push(doc._id);
  assert.deepEqual([seen.length, seen[0], seen[199]], [200, 239, 40]);
  const cursor = coll.find().batchSize(10);
  await cursor.next();
  const id = cursor.id;
  await cursor.close();
  await refused(43, db.command({ getMore: id, collection: 'cursors' }));
  assert.equal((await coll.find({ g: 3 }).hint({ _id: 1 }).maxTimeMS(5000).project({ g: 1, _id: 0 }).toArray()).length, 36);
  assert.equal((await coll.find().limit(5).stream().toArray()).length, 5);
  const names = (await db.listCollections({ name: 'cursors' }).toArray()).map((c) => c.name);
  assert.deepEqual(names, ['cursors']);
}));

check('indexes', () => within('indexes', async (coll) => {
  await coll.insertMany([{ _id: 1, a: 1, b: 2, at: new Date() }, { _id: 2, a: 2, b: 1, at: new Date() }]);
  assert.equal(await coll.createIndex({ a: 1, b: -1 }), 'a_1_b_-1');
  assert.deepEqual(await coll.createIndexes([{ key: { at: 1 }, expireAfterSeconds: 3600 },
    { key: { b: 1 }, name: 'some', ...(cosmos ? {} : { partialFilterExpression: { b: { $gt: 1 } } }) }, { key: { 'w.$**': 1 } }]), ['at_1', 'some', 'w.$**_1']);
  const list = await coll.listIndexes().toArray();
  assert.deepEqual(list.map((i) => i.name).sort(), ['_id_', 'a_1_b_-1', 'at_1', 'some', 'w.$**_1']);
  assert.equal(list.find((i) => i.name === 'at_1').expireAfterSeconds, 3600);
  const plan = await coll.find({ a: 1, b: { $lt: 5 } }).explain();
  assert.match(JSON.stringify(plan), /IXSCAN/);
  await coll.dropIndex('some');
  await coll.dropIndexes();
  assert.equal((await coll.indexes()).length, 1);
  await refused(27, coll.dropIndex('none'));
}));

check('aggregation', () => within('aggregation', async (coll, db) => {
  await coll.insertMany(Array.from({ length: 100 }, (_, i) => ({ _id: i, g: i % 4, v: i, parts: [{ s: i % 3 }, { s: i % 5 }] })));
  const groups = await coll.aggregate([
    { $match: { v: { $lt: 80 } } }, { $unwind: '$parts' },
    { $group: { _id: '$g', n: { $sum: 1 }, top: { $max: '$v' } } }, { $sort: { _id: 1 } },
  ]).toArray();
  assert.deepEqual(groups[3], { _id: 3, n: 40, top: 79 });
  const joined = await coll.aggregate([{ $match: { _id: 1 } },
    { $lookup: { from: 'aggregation', localField: 'g', foreignField: 'g', as: 'same', pipeline: [{ $match: { v: { $lt: 10 } } }] } },
    { $project: { n: { $size: '$same' } } }]).next();
  assert.deepEqual(joined, { _id: 1, n: 3 });
  const [facets] = await coll.aggregate([{ $facet: { c: [{ $count: 'n' }], b: [{ $bucket: { groupBy: '$v', boundaries: [0, 50, 100] } }] } }]).toArray();
  assert.deepEqual(facets, { c: [{ n: 100 }], b: [{ _id: 0, count: 50 }, { _id: 50, count: 50 }] });
  await coll.aggregate([{ $match: { g: 0 } }, { $merge: { into: 'aggregation_out' } }]).toArray();
  assert.equal(await db.collection('aggregation_out').countDocuments(), 25);
  await db.collection('aggregation_out').drop();
}));

check('gridfs', () => within('fs.files', async (coll, db) => {
  await db.collection('fs.chunks').drop();
  // Cosmos DB sorts only by what is indexed.
  await coll.createIndex({ uploadDate: -1 });
  await db.collection('fs.chunks').createIndex({ n: 1 });
  const bucket = new GridFSBucket(db, { chunkSizeBytes: 64 << 10 });
  const data = Buffer.alloc(1_000_000, 'cantle ');
  const up = bucket.openUploadStream('a.bin', { metadata: { kind: 'test' } });
  await pipeline(Readable.from([data.subarray(0, 300_000), data.subarray(300_000)]), up);
  assert.deepEqual(Buffer.concat(await bucket.openDownloadStreamByName('a.bin').toArray()), data);
  assert.deepEqual(Buffer.concat(await bucket.openDownloadStream(up.id, { start: 65_000, end: 200_001 }).toArray()), data.subarray(65_000, 200_001));
  const [file] = await bucket.find({ 'metadata.kind': 'test' }).toArray();
  assert.deepEqual([file.length, file.filename], [1_000_000, 'a.bin']);
  await bucket.rename(up.id, 'b.bin');
  await bucket.delete(up.id);
  assert.equal(await db.collection('fs.chunks').countDocuments(), 0);
}));

check('sessions', () => within('sessions', async (coll, db, client) => {
  await client.withSession({ causalConsistency: true }, async (session) => {
    await coll.insertOne({ _id: 1 }, { session });
    assert.ok(session.operationTime);
    assert.deepEqual(await coll.findOne({}, { session, readConcern: { level: 'majority' } }), { _id: 1 });
    assert.ok(session.clusterTime);
  });
  if (!cosmos) {
    await client.withSession({ snapshot: true }, async (session) => {
      assert.equal(await coll.countDocuments({}, { session }), 1);
      await coll.insertOne({ _id: 2 });
      assert.equal(await coll.countDocuments({}, { session }), 1);
    });
  }
  const session = client.startSession();
  const cursor = coll.find({}, { session, batchSize: 1 });
  await cursor.next();
  await client.db('admin').command({ killSessions: [session.id] });
  await session.endSession();
}));

check('transactions', () => within('transactions', async (coll, db, client) => {
  await coll.insertMany([{ _id: 'a', n: 100 }, { _id: 'b', n: 0 }]);
  const move = (session, amount) => coll.updateOne({ _id: 'a' }, { $inc: { n: -amount } }, { session })
    .then(() => coll.updateOne({ _id: 'b' }, { $inc: { n: amount } }, { session }));
  await client.withSession(async (session) => {
    session.startTransaction({ readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority' } });
    await move(session, 10);
    assert.equal((await coll.findOne({ _id: 'b' })).n, 0);
    await session.commitTransaction();
    session.startTransaction();
    await move(session, 50);
    await session.abortTransaction();
  });
  assert.equal((await coll.findOne({ _id: 'b' })).n, 10);
  // Ten at a time on the same two documents: conflicts are retried by withTransaction.
  await Promise.all(Array.from({ length: 10 }, () => client.withSession((s) => s.withTransaction(() => move(s, 1)))));
  assert.deepEqual(await coll.find().sort({ _id: 1 }).toArray(), [{ _id: 'a', n: 80 }, { _id: 'b', n: 20 }]);
  await connected({}, (single) => single.withSession(async (session) => {
    const same = single.db(dbName).collection('transactions');
    session.startTransaction();
    await same.updateOne({ _id: 'a' }, { $inc: { n: 1 } }, { session });
    const other = single.startSession();
    other.startTransaction();
    const conflict = await refused(112, same.updateOne({ _id: 'a' }, { $inc: { n: 1 } }, { session: other }));
    assert.ok(conflict.hasErrorLabel('TransientTransactionError'));
    await other.endSession();
    await session.abortTransaction();
  }), one);
}));

check('retryable', () => within('retryable', async (coll, db, client) => {
  const fail = (data, mode = { times: 1 }) => client.db('admin').command({ configureFailPoint: 'failCommand', mode, data: { ...data, appName: 'retryable' } });
  try {
    await fail({ failCommands: ['insert'], closeConnection: true });
    await coll.insertOne({ _id: 1 });
    await fail({ failCommands: ['update'], errorCode: 91, errorLabels: ['RetryableWriteError'] });
    assert.equal((await coll.updateOne({ _id: 1 }, { $inc: { n: 1 } })).modifiedCount, 1);
    await fail({ failCommands: ['find'], errorCode: 11602 });
    assert.deepEqual(await coll.findOne({ _id: 1 }), { _id: 1, n: 1 });
    // The write was done, its answer lost: the second attempt must not do it again.
    await fail({ failCommands: ['update'], writeConcernError: { code: 91, errmsg: 'lost', errorLabels: ['RetryableWriteError'] } });
    await coll.updateOne({ _id: 1 }, { $inc: { n: 1 } });
    assert.deepEqual(await coll.findOne({ _id: 1 }), { _id: 1, n: 2 });
    await fail({ failCommands: ['insert'], errorCode: 11601 });
    await refused(11601, coll.insertOne({ _id: 2 }));
  } finally {
    await client.db('admin').command({ configureFailPoint: 'failCommand', mode: 'off' });
  }
}, { appName: 'retryable' }, one));

check('changestreams', () => within('changestreams', async (coll, db) => {
  await db.createCollection('changestreams');
  // What both personalities allow.
  const pipeline = [{ $match: { operationType: { $in: ['insert', 'update', 'replace'] } } },
    { $project: { _id: 1, fullDocument: 1, ns: 1, documentKey: 1 } }];
  const stream = coll.watch(pipeline, { fullDocument: 'updateLookup', maxAwaitTimeMS: 200 });
  await stream.tryNext();
  await coll.insertOne({ _id: 1, n: 1 });
  await coll.updateOne({ _id: 1 }, { $set: { n: 2 } });
  assert.deepEqual((await stream.next()).documentKey, { _id: 1 });
  const second = await stream.next();
  assert.deepEqual(second.fullDocument, { _id: 1, n: 2 });
  await stream.close();
  await coll.insertOne({ _id: 2 });
  const resumed = coll.watch(pipeline, { fullDocument: 'updateLookup', resumeAfter: second._id });
  assert.deepEqual((await resumed.next()).documentKey, { _id: 2 });
  await resumed.close();
  if (cosmos) return;
  const all = db.watch([], { fullDocument: 'updateLookup' });
  await all.tryNext();
  await coll.deleteOne({ _id: 2 });
  await coll.drop();
  const kinds = [];
  for (let i = 0; i < 2; i++) kinds.push((await all.next()).operationType);
  assert.deepEqual(kinds, ['delete', 'drop']);
  await all.close();
}));

check('throttling', () => within('throttling', async (coll, db, client) => {
  await db.command({ customAction: 'CreateCollection', collection: 'throttling', shardKey: 'k', offerThroughput: 400 });
  const doc = (i) => ({ _id: i, k: `k${i}`, pad: 'x'.repeat(900) });
  const refusal = await refused(16500, coll.insertMany(Array.from({ length: 1000 }, (_, i) => doc(i)), { ordered: false }));
  assert.match(refusal.message, /RetryAfterMs=\d+/);
  let left = refusal.writeErrors.map((e) => doc(e.index)).slice(0, 100);
  assert.ok(left.length > 0);
  // What an application does: wait as told, send the refused ones again.
  while (left.length) {
    await new Promise((done) => setTimeout(done, Number(/RetryAfterMs=(\d+)/.exec(refusal.message)[1]) + 100));
    try {
      await coll.insertMany(left, { ordered: false });
      left = [];
    } catch (e) {
      if (e.code !== 16500) throw e;
      left = (e.writeErrors ?? []).length ? e.writeErrors.map((w) => left[w.index]) : left;
    }
  }
  // And by itself, twice at most: a command refused as a whole has the labels of the
  // back-pressure specification. Azure Cosmos DB has none: there the application has to.
  await new Promise((done) => setTimeout(done, 1200));
  const insert = (id) => (c) => c.insertOne({ _id: id, k: `k${id}` });
  await insert(5000)(coll);
  for (const [kind, command, times, run, attempts] of [
    ['read', 'find', 2, (c) => c.findOne({ _id: 5000, k: 'k5000' }), 3],
    ['write', 'insert', 2, insert(5001), 3],
    ['write', 'update', 2, (c) => c.updateOne({ _id: 5000, k: 'k5000' }, { $inc: { n: 1 } }), 3],
    ['write', 'insert', 9, insert(5002), 3],
  ]) {
    await connected({ monitorCommands: true }, async (watched) => {
      let sent = 0;
      watched.on('commandStarted', (e) => { if (e.commandName === command) sent++; });
      await db.command({ customAction: 'InjectThrottle', kind, nth: 1, count: times, retryAfterMs: 20, collection: 'throttling' });
      const there = run(watched.db(db.databaseName).collection('throttling'));
      const expected = cosmos ? 1 : attempts;
      if (times < expected) await there;
      else {
        const error = await refused(16500, there);
        assert.equal(error.hasErrorLabel('SystemOverloadedError'), !cosmos);
        assert.equal(error.hasErrorLabel('RetryableError'), !cosmos);
      }
      await db.command({ customAction: 'InjectThrottle', off: true });
      assert.equal(sent, expected, command);
    }, one);
  }
  assert.equal(await coll.countDocuments({ _id: { $gte: 5000 } }), cosmos ? 1 : 2);
}, {}, one));

check('errors', () => within('errors', async (coll, db) => {
  await coll.insertOne({ _id: 1 });
  const duplicate = await refused(11000, coll.insertOne({ _id: 1 }));
  assert.deepEqual(duplicate.keyValue, { _id: 1 });
  assert.deepEqual(duplicate.keyPattern, { _id: 1 });
  assert.equal((await refused(59, db.command({ noSuchCommand: 1 }))).codeName, 'CommandNotFound');
  assert.equal((await refused(2, coll.find({ a: { $nope: 1 } }).toArray())).codeName, 'BadValue');
  await refused(9, coll.updateOne({}, { $set: { a: 1 }, $nope: { a: 1 } }));
  await refused(40324, coll.aggregate([{ $nope: 1 }]).toArray());
  await refused(48, db.createCollection('errors', { capped: false }).then(() => db.command({ create: 'errors', capped: true, size: 4096 })));
  await refused(26, db.collection('nowhere').rename('other'));
  const failed = await refused(50, coll.find({ $where: 'sleep(300) || true' }).maxTimeMS(50).toArray());
  assert.ok(failed instanceof MongoServerError);
  if (!cosmos) {
    await db.command({ collMod: 'errors', validator: { n: { $type: 'int' } } });
    const invalid = await refused(121, coll.insertOne({ n: 'x' }));
    assert.ok(invalid.errInfo);
  }
}));

check('compression', async () => {
  for (const kind of ['snappy', 'zlib']) {
    await within('compression', async (coll, db, client) => {
      const text = 'cantle '.repeat(50_000);
      await coll.insertOne({ _id: 1, text });
      assert.equal((await coll.findOne()).text, text);
      const hello = await client.db().command({ hello: 1, compression: [kind] });
      assert.deepEqual(hello.compression, [kind]);
    }, {}, withOptions(`compressors=${kind}`));
  }
});

check('pool', async () => {
  await within('pool', async (coll, db, client) => {
    await coll.insertMany(Array.from({ length: 50 }, (_, i) => ({ _id: i })));
    let created = 0;
    client.on('connectionCreated', () => created++);
    const got = await Promise.all(Array.from({ length: 200 }, (_, i) => coll.findOne({ _id: i % 50 })));
    assert.equal(got.filter((d) => d).length, 200);
    assert.ok(created <= 5);
  }, { maxPoolSize: 5 }, one);
  for (let i = 0; i < 30; i++) {
    await connected({ maxIdleTimeMS: 100 }, (c) => c.db(dbName).collection('pool').findOne({ _id: i }, { readPreference: ReadPreference.NEAREST }), one);
  }
  await connected({}, async (client) => {
    for (let tries = 0; ; tries++) {
      const { connections } = await client.db('admin').command({ serverStatus: 1 });
      if (connections.current < 20) break;
      assert.ok(tries < 100, `${connections.current} connections are open`);
      await new Promise((done) => setTimeout(done, 100));
    }
    await client.db(dbName).dropDatabase();
  }, one);
});

check('hosts', async () => {
  const hosts = uri.match(/\/\/([^/]+)/)[1].split(',');
  if (hosts.length === 1) return { skip: 'there is one server' };
  const first = (command) => connected({}, (c) => c.db('admin').command({ configureFailPoint: 'failCommand', ...command }), `mongodb://${hosts[0]}/`);
  await first({ mode: 'alwaysOn', data: { failCommands: ['insert', 'find'], closeConnection: true, appName: 'hosts' } });
  try {
    await within('hosts', async (coll, db, client) => {
      const answered = new Set();
      let failed = 0;
      client.on('commandSucceeded', (e) => { if (e.commandName === 'insert') answered.add(e.address); });
      client.on('commandFailed', (e) => { if (e.address === hosts[0]) failed++; });
      for (let i = 0; i < 40; i++) {
        await coll.insertOne({ _id: i });
        assert.equal((await coll.findOne({ _id: i }))._id, i);
      }
      assert.ok(failed > 0, 'nothing went to the server that drops connections');
      assert.deepEqual([...answered].sort(), hosts.slice(1).sort());
      assert.equal(await coll.countDocuments(), 40);

      await first({ mode: 'off' });
      await connected({}, (c) => c.db('admin').command({ shutdown: 1 }), `mongodb://${hosts.at(-1)}/`);
      let n = 40;
      const work = async () => {
        await coll.insertOne({ _id: n });
        await coll.updateMany({ _id: n }, { $set: { seen: true } }); // which no driver retries
        assert.deepEqual(await coll.findOne({ _id: n }), { _id: n, seen: true });
        n++;
      };
      for (const end = Date.now() + 1500; Date.now() < end;) await work();
      answered.clear();
      for (let i = 0; i < 30; i++) await work();
      assert.ok(!answered.has(hosts.at(-1)));
      assert.equal(await coll.countDocuments(), n);
    }, { appName: 'hosts', monitorCommands: true });
  } finally {
    await first({ mode: 'off' });
  }
});
