// A hundred servers, one after another and many at once, leave nothing behind; and they
// are quick to start.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import test from "node:test";
import { MongoClient } from "mongodb";
import { MongoMemoryReplSet, MongoMemoryServer } from "cantle-memory-server";

// What may be left behind: descriptors, processes below this one, folders.
function possessions() {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const children = pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ")[1] === String(process.pid);
    } catch {
      return false; // it has just ended
    }
  });
  return { descriptors: readdirSync("/proc/self/fd").length, children: children.length, folders: readdirSync(tmpdir()).length };
}

async function ping(uri) {
  const client = await MongoClient.connect(uri);
  await client.db("a").collection("b").insertOne({});
  await client.close();
}

test("a hundred servers", async (t) => {
  const warm = await MongoMemoryServer.create();
  await ping(warm.getUri());
  await warm.stop();
  const before = possessions();
  const times = [];
  for (let i = 0; i < 80; i++) {
    const begun = performance.now();
    const server = await (i % 2 ? MongoMemoryServer : MongoMemoryReplSet).create();
    times.push(performance.now() - begun);
    if (i % 8 === 0) await ping(server.getUri());
    await server.stop();
  }
  const together = await Promise.all(Array.from({ length: 20 }, () => MongoMemoryServer.create()));
  assert.equal(new Set(together.map((s) => s.instanceInfo.port)).size, 20);
  assert.equal(possessions().children, before.children + 20);
  await Promise.all(together.map((s) => s.stop()));
  assert.deepEqual(possessions(), before);
  times.sort((a, b) => a - b);
  t.diagnostic(`create() takes ${times[40].toFixed(1)} ms, one of ten ${times[72].toFixed(1)} ms or more`);
});

// alive reports a process.
function alive(pid) {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

for (const [what, program, end] of [
  ["a parent that is killed", "const s = await MongoMemoryServer.create(); console.log(s.instanceInfo.instance.mongodProcess.pid)", (p) => p.kill("SIGKILL")],
  ["a parent that exits", "const s = await MongoMemoryServer.create(); console.log(s.instanceInfo.instance.mongodProcess.pid); process.stdin.once('data', () => process.exit(0))", (p) => p.stdin.write("x")],
  ["a parent that throws", "const s = await MongoMemoryServer.create(); console.log(s.instanceInfo.instance.mongodProcess.pid); process.stdin.once('data', () => { throw new Error('as planned') })", (p) => p.stdin.write("x")],
]) {
  test(what, async () => {
    const parent = spawn(process.execPath, ["--input-type=module", "-e", `import { MongoMemoryServer } from "cantle-memory-server"; ${program}`], { stdio: ["pipe", "pipe", "ignore"] });
    const pid = Number(await new Promise((line) => parent.stdout.once("data", line)));
    assert.ok(alive(pid));
    const gone = new Promise((exit) => parent.once("exit", exit));
    end(parent);
    await gone;
    for (let i = 0; alive(pid) && i < 200; i++) await new Promise((later) => setTimeout(later, 10));
    assert.ok(!alive(pid), "the server outlives it");
  });
}

test("npx cantle", async () => {
  const npx = spawn(process.execPath, ["node_modules/cantle/cantle.js", "serve", "--memory", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] });
  const uri = /cantle ready (\S+)/.exec(await new Promise((line) => npx.stdout.setEncoding("utf8").once("data", line)))[1];
  await ping(uri);
  npx.kill("SIGKILL");
  const refused = async () => {
    try {
      await (await MongoClient.connect(uri, { serverSelectionTimeoutMS: 50 })).close();
      return false;
    } catch {
      return true;
    }
  };
  for (let i = 0; i < 100 && !(await refused()); i++) await new Promise((later) => setTimeout(later, 20));
  assert.ok(await refused(), "the server outlives it");
});
