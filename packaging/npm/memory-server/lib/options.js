"use strict";
const { setting } = require("./settings.js");

// Options of mongod that say nothing to this server, with whether a value follows.
const meaningless = new Map(Object.entries({
  "--quiet": false, "-v": false, "-vv": false, "--verbose": false, "--journal": false, "--nojournal": false, "--noauth": false,
  "--noprealloc": false, "--smallfiles": false, "--nounixsocket": false, "--ipv6": false, "--noscripting": false,
  "--storageEngine": true, "--wiredTigerCacheSizeGB": true, "--oplogSize": true, "--syncdelay": true, "--setParameter": true,
  "--keyFile": true, "--keyfile": true, "--logpath": true,
}));

// Options of mongod with their names here.
const renamed = { "--dbpath": "--data", "--replSet": "--replica-set", "--maxConns": "--max-connections", "--tlsMode": "--tls-mode",
  "--tlsCertificateKeyFile": "--tls-certificate-key-file", "--tlsCAFile": "--tls-ca-file" };

/**
 * Translates arguments for mongod. What it does not know is handed on: it may be a setting
 * of cantle, and cantle refuses what it does not know with a sentence.
 */
function translate(args = []) {
  const out = [];
  for (let i = 0; i < args.length; i++) {
    const [name, value] = split(String(args[i]));
    if (meaningless.has(name)) {
      if (meaningless.get(name) && value === undefined) i++;
      continue;
    }
    const to = renamed[name] || name;
    out.push(value === undefined ? to : `${to}=${value}`);
  }
  return out;
}

// split divides "--name=value".
function split(arg) {
  const at = arg.startsWith("--") ? arg.indexOf("=") : -1;
  return at < 0 ? [arg, undefined] : [arg.slice(0, at), arg.slice(at + 1)];
}

/** The release of MongoDB to look like, for a version such as "7.0.14"; undefined for cantle's own choice. */
function compat(version) {
  const found = /^v?(\d+)\.(\d+)/.exec(version || "");
  if (!found) {
    return undefined;
  }
  const [major, minor] = [Number(found[1]), Number(found[2])];
  if (major < 8) {
    return "7.0";
  }
  if (major > 8) {
    return "9.0";
  }
  return minor < 3 ? "8.0" : "8.3";
}

/** Arguments for `cantle serve` from the options of an instance. port is 0 for any. */
function argumentsOf(instance, { port, auth, version }) {
  const ip = instance.ip || "127.0.0.1";
  const host = ip.includes(":") ? `[${ip}]` : ip;
  const args = ["--listen", `${host}:${port}`, "--drain", "2s"];
  args.push(...(instance.dbPath ? ["--data", instance.dbPath] : ["--memory"]));
  if (instance.replSet) args.push("--replica-set", instance.replSet);
  if (auth) args.push("--auth");
  else if (!/^(127\.|::1$|localhost$)/.test(ip)) args.push("--allow-open"); // as was asked for
  const release = compat(version || setting("VERSION"));
  if (release) args.push("--compat", release);
  return [...args, ...translate(instance.args)];
}

module.exports = { translate, compat, argumentsOf };
