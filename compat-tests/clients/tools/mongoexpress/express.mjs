// Starts mongo-express as its manual says, by environment variables, and stops it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

const startSecondsMax = 60;

// The login of mongo-express's own pages.
export const login = { username: 'keeper', password: 'of the pages' };

// startExpress resolves to {address, stop, said} when the pages answer.
export async function startExpress(uri, authority) {
  const port = await freePort();
  const secure = authority ? { ME_CONFIG_MONGODB_SSL: 'true', ME_CONFIG_MONGODB_CA_FILE: authority } : {};
  const child = spawn(process.execPath, ['node_modules/mongo-express/app.js'], {
    env: {
      ...process.env, ...secure,
      ME_CONFIG_MONGODB_URL: uri,
      ME_CONFIG_MONGODB_ENABLE_ADMIN: 'true',
      ME_CONFIG_BASICAUTH_USERNAME: login.username,
      ME_CONFIG_BASICAUTH_PASSWORD: login.password,
      VCAP_APP_HOST: '127.0.0.1',
      PORT: String(port),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => { output = (output + chunk).slice(-20_000); });
  }
  const ended = once(child, 'exit');
  const address = `http://127.0.0.1:${port}/`;
  const express = {
    address,
    said: () => output,
    stop: async () => { child.kill('SIGKILL'); await ended; },
  };
  for (const deadline = Date.now() + startSecondsMax * 1000; Date.now() < deadline; await pause(100)) {
    if (child.exitCode !== null) break;
    const answer = await fetch(address).catch(() => undefined);
    if (answer?.status === 401) return express;
  }
  await express.stop();
  throw new Error(`mongo-express did not start:\n${output}`);
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}
