"use strict";
const { createRequire } = require("node:module");
const path = require("node:path");
const { NoDriverError } = require("./errors.js");

// driver is the mongodb driver of the project, its own or Mongoose's.
function driver() {
  for (const from of [__filename, path.join(process.cwd(), "package.json")]) {
    const require = createRequire(from);
    for (const load of [() => require("mongodb"), () => require("mongoose").mongo]) {
      try {
        return load();
      } catch {
        // the next one
      }
    }
  }
  throw new NoDriverError();
}

/** Makes the root user and then the others, on a server that has none. auth has all its fields. */
async function createUsers(port, auth) {
  const { MongoClient } = driver();
  const uri = `mongodb://127.0.0.1:${port}/?directConnection=true`;
  const admin = new MongoClient(uri); // from this machine, the first user can be made without one
  try {
    await admin.db("admin").command({ createUser: auth.customRootName, pwd: auth.customRootPwd, roles: ["root"] });
  } finally {
    await admin.close();
  }
  if (auth.extraUsers.length === 0) {
    return;
  }
  const root = new MongoClient(uri, { auth: { username: auth.customRootName, password: auth.customRootPwd }, authSource: "admin" });
  try {
    for (const { database = "admin", ...command } of auth.extraUsers) {
      const { createUser, ...rest } = command; // the command's name comes first
      await root.db(database).command({ createUser, ...rest });
    }
  } finally {
    await root.close();
  }
}

module.exports = { createUsers };
