// The API of mongodb-memory-server, through the eyes of who moves here.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { existsSync, mkdtempSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import test from "node:test";
import { MongoClient } from "mongodb";
import Default, { DryMongoBinary, MongoBinary, MongoMemoryReplSet, MongoMemoryServer, errors } from "cantle-memory-server";

const required = createRequire(import.meta.url)("cantle-memory-server");

// run asks a server for something.
async function run(uri, ask) {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 5000 });
  try {
    return await ask(client.db());
  } finally {
    await client.close();
  }
}

test("a server through its life", async () => {
  const server = new MongoMemoryServer();
  const states = [];
  server.on("stateChange", (state) => states.push(state));
  assert.equal(server.state, "new");
  assert.equal(server.instanceInfo, undefined);
  assert.throws(() => server.getUri(), errors.StateError);
  assert.equal(await server.stop(), false);
  await server.start();
  await assert.rejects(server.start(), errors.StateError);
  await assert.rejects(server.cleanup(), errors.StateError);
  const { port, instance, ip, dbPath } = await server.ensureInstance();
  assert.equal(ip + dbPath, "127.0.0.1");
  assert.equal(server.getUri(), `mongodb://127.0.0.1:${port}/`);
  assert.equal(server.getUri("shop", "localhost"), `mongodb://localhost:${port}/shop`);
  assert.ok(instance.mongodProcess.pid > 0);
  assert.equal((await run(server.getUri("shop"), (db) => db.collection("c").insertOne({ _id: 1 }))).insertedId, 1);
  assert.equal(await server.stop({ doCleanup: false }), true);
  assert.equal(server.state, "stopped");
  assert.equal(instance.mongodProcess, undefined);
  await server.start(true);
  assert.equal(server.instanceInfo.port, port);
  assert.equal(await run(server.getUri("shop"), (db) => db.collection("c").countDocuments()), 0);
  await server.stop();
  assert.equal(server.state, "new");
  assert.deepEqual(states, ["starting", "running", "stopped", "starting", "running", "stopped", "new"]);
  await assert.rejects(new MongoClient(`mongodb://127.0.0.1:${port}/`, { serverSelectionTimeoutMS: 100 }).connect());
});

test("ways to import", () => {
  assert.equal(Default, MongoMemoryServer);
  assert.equal(required.MongoMemoryServer, MongoMemoryServer);
  assert.equal(required.default, MongoMemoryServer);
});

test("the version", async () => {
  for (const [version, want] of [[undefined, /^8\.0/], ["7.0.14", /^7\.0/], ["6.0.9", /^7\.0/], ["8.2.6", /^8\.0/], ["v9.0-latest", /^9\.0/]]) {
    const server = await MongoMemoryServer.create({ binary: { version, checkMD5: true, downloadDir: "/nowhere" } });
    assert.match((await run(server.getUri(), (db) => db.admin().buildInfo())).version, want);
    await server.stop();
  }
  assert.ok(existsSync(await MongoBinary.getPath()));
});

test("a replica set", async () => {
  const set = new MongoMemoryReplSet({ replSet: { name: "mine", storageEngine: "wiredTiger", args: ["--quiet", "--setParameter", "a=b"] } });
  assert.throws(() => set.getUri(), errors.StateError);
  await assert.rejects(set.waitUntilRunning(), errors.StateError);
  await Promise.all([set.start(), set.waitUntilRunning()]);
  assert.throws(() => { set.replSetOpts = {}; }, errors.StateError);
  assert.equal(set.servers.length, 1);
  const port = set.servers[0].instanceInfo.port;
  assert.equal(set.getUri("shop"), `mongodb://127.0.0.1:${port}/shop?replicaSet=mine`);
  const hello = await run(set.getUri(), (db) => db.command({ hello: 1 }));
  assert.deepEqual([hello.setName, hello.isWritablePrimary, hello.hosts.length], ["mine", true, 1]);
  await set.stop();
  assert.deepEqual([set.state, set.servers.length], ["stopped", 0]);
  assert.throws(() => new MongoMemoryReplSet({ replSet: { count: 0 } }), errors.ReplsetCountLowError);
  const warned = new Promise((warning) => process.once("warning", warning));
  const three = await MongoMemoryReplSet.create({ replSet: { count: 3 } });
  assert.equal((await warned).code, "CANTLE_REPLSET_COUNT");
  assert.equal(await run(three.getUri("shop"), (db) => db.collection("c").countDocuments({}, { readPreference: "secondaryPreferred" })), 0);
  await three.stop();
});

test("users", async () => {
  for (const Kind of [MongoMemoryServer, MongoMemoryReplSet]) {
    const auth = { enable: true, customRootName: "me", customRootPwd: "secret", extraUsers: [{ createUser: "reader", pwd: "r", roles: ["read"], database: "shop" }] };
    const server = await Kind.create({ auth, replSet: { auth } });
    const uri = server.getUri("shop");
    await assert.rejects(run(uri, (db) => db.collection("c").countDocuments()), /requires authentication/);
    assert.equal(await run(uri.replace("//", "//reader:r@"), (db) => db.collection("c").countDocuments()), 0);
    await assert.rejects(run(uri.replace("//", "//reader:r@"), (db) => db.collection("c").insertOne({})), { code: 13 });
    const root = new MongoClient(uri, { auth: { username: "me", password: "secret" }, authSource: "admin" });
    await root.db().collection("c").insertOne({});
    await root.close();
    await server.stop();
  }
});

test("a folder for the data", async () => {
  const dbPath = path.join(mkdtempSync(path.join(tmpdir(), "cantle-")), "db");
  const first = await MongoMemoryServer.create({ instance: { dbPath } });
  await run(first.getUri("shop"), (db) => db.collection("c").insertOne({ _id: 1 }));
  await first.stop();
  const second = await MongoMemoryServer.create({ instance: { dbPath } });
  assert.equal(await run(second.getUri("shop"), (db) => db.collection("c").countDocuments()), 1);
  await second.stop({ doCleanup: true, force: true });
  assert.ok(!existsSync(dbPath));
});

test("a port that is taken", async () => {
  const taken = net.createServer();
  await new Promise((listening) => taken.listen(0, "127.0.0.1", listening));
  const { port } = taken.address();
  const another = await MongoMemoryServer.create({ instance: { port } });
  assert.notEqual(another.instanceInfo.port, port);
  await another.stop();
  await assert.rejects(MongoMemoryServer.create({ instance: { port, portGeneration: false } }), { code: "EADDRINUSE" });
  taken.close();
});

test("what is refused is refused with a sentence", async () => {
  await assert.rejects(MongoMemoryServer.create({ instance: { args: ["--shardsvr"] } }), (e) => e instanceof errors.StdoutInstanceError && /there is no flag --shardsvr/.test(e.message));
});

test("stop does not wait for clients that stay", async () => {
  const set = await MongoMemoryReplSet.create();
  const client = new MongoClient(set.getUri("shop"));
  client.on("error", () => {});
  const stream = client.db().collection("c").watch();
  const ended = stream.next().catch(() => {});
  await client.db().collection("c").countDocuments();
  const begun = performance.now();
  await set.stop();
  const took = performance.now() - begun;
  await stream.close();
  await client.close(true);
  await ended;
  assert.ok(took < 2500, `stop took ${took} ms`);
});

test("events of the instance", async () => {
  const set = new MongoMemoryReplSet();
  await set.start();
  const { instance } = set.servers[0].instanceInfo;
  const heard = [];
  for (const event of ["instanceReady", "instancePrimary", "instanceError", "instanceClosed"]) instance.on(event, (...args) => heard.push([event, ...args]));
  instance.mongodProcess.kill("SIGKILL");
  await new Promise((closed) => instance.once("instanceClosed", closed));
  assert.deepEqual(heard.map(([event]) => event), ["instanceError", "instanceClosed"]);
  assert.ok(heard[0][1] instanceof errors.UnexpectedCloseError);
  assert.equal(instance.isInstanceReady, false);
  await set.stop();
});

test("what makes no sense here", () => {
  assert.throws(() => new MongoMemoryServer({ auth: true }), errors.AuthNotObjectError);
  assert.throws(() => DryMongoBinary.generateDownloadPath({}), /downloads nothing: DryMongoBinary.generateDownloadPath/);
  assert.ok(!(new Error() instanceof errors.DownloadError));
});

test("await using", async () => {
  const server = await MongoMemoryServer.create();
  const { mongodProcess } = server.instanceInfo.instance;
  await server[Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]();
  assert.equal(mongodProcess.exitCode, 0);
});
