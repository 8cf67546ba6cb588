// The line of output per area that the runner reads, and what the programs share.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';

export const uri = process.env.CANTLE_URI;
export const one = process.env.CANTLE_ONE_URI ?? uri;
export const cosmos = process.env.CANTLE_PERSONALITY === 'cosmos';

// area runs the checks of one area. A function that returns {skip: reason} did not apply.
export function area(client, name, check) {
  test(name, { timeout: 60_000 }, async (t) => {
    try {
      const said = await check(t);
      if (said?.skip) {
        console.log(`${client} ${name} skip ${said.skip}`);
        t.skip(said.skip);
        return;
      }
      console.log(`${client} ${name} ok`);
    } catch (error) {
      console.log(`${client} ${name} FAIL ${String(error.stack ?? error).replaceAll('\n', ' | ')}`);
      throw error;
    }
  });
}

// connected hands a client to use and closes it.
export async function connected(options, use, string = uri) {
  const client = new MongoClient(string, options);
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.close();
  }
}

// with adds options to the connection string.
export function withOptions(more, string = uri) {
  return string + (string.includes('?') ? '&' : '?') + more;
}

// elsewhere is a connection string of the same server with nothing but who logs in, what is
// trusted, and these options.
export function elsewhere(host, database, options) {
  const { username, password, searchParams } = new URL(one);
  const kept = [...searchParams].filter(([name]) => /^(tls|auth)/.test(name));
  return `mongodb://${username && `${username}:${password}@`}${host}/${database}?${new URLSearchParams([...kept, ...Object.entries(options)])}`;
}

// refused expects an error of the server with this code and returns it.
export async function refused(code, promise) {
  try {
    await promise;
  } catch (error) {
    assert.equal(error.code, code, error.message);
    return error;
  }
  assert.fail(`no error, expected ${code}`);
}
