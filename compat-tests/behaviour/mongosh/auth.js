// Users and roles as an administrator works with them in the shell.
// server: --auth
const admin = db.getSiblingDB("admin");
fails(() => db.c.find().toArray());
show(admin.createUser({user: "root", pwd: "secret", roles: ["root"]}).ok);
fails(() => admin.createUser({user: "second", pwd: "x", roles: []}));
fails(() => admin.auth("root", "wrong"));
show(admin.auth("root", "secret").ok);
db.createUser({user: "alice", pwd: "a", roles: ["read"], customData: {team: 7}, passwordDigestor: "server"});
db.createUser({user: "old", pwd: "o", roles: [], mechanisms: ["SCRAM-SHA-1"]});
for (const u of db.getUsers().users) {
  show([u._id, u.roles, u.mechanisms, u.customData]);
}
db.createRole({role: "auditor", privileges: [{resource: {db: "test", collection: "log"}, actions: ["find", "insert"]}], roles: []});
db.grantRolesToUser("alice", ["auditor"]);
show(db.getUser("alice").roles);
show(db.getRole("auditor", {showPrivileges: true}).privileges);
db.grantPrivilegesToRole("auditor", [{resource: {db: "test", collection: "log"}, actions: ["remove"]}]);
db.revokePrivilegesFromRole("auditor", [{resource: {db: "test", collection: "log"}, actions: ["insert"]}]);
show(db.getRole("auditor", {showPrivileges: true}).privileges);
db.c.insertOne({_id: 1});

const alice = new Mongo(db.getMongo()._uri.replace("mongodb://", "mongodb://alice:a@").replace(/\/test.*/, "/test")).getDB("test");
show(alice.c.find().toArray());
fails(() => alice.c.insertOne({_id: 2}));
fails(() => alice.c.aggregate([{$out: "d"}]).toArray());
show(alice.log.deleteMany({}).deletedCount);
show(alice.runCommand({connectionStatus: 1}).authInfo);
show(alice.adminCommand({listDatabases: 1, nameOnly: true}).databases);
db.revokeRolesFromUser("alice", ["read"]);
fails(() => alice.c.find().toArray());
db.changeUserPassword("alice", "new");
db.updateUser("alice", {roles: ["readWrite"]});
show(alice.c.insertOne({_id: 3}).acknowledged);
show(db.dropRole("auditor"));
show(db.getUser("alice").roles);
show(db.dropUser("alice"));
fails(() => alice.c.find().toArray());
show(db.dropAllUsers().n);
show(db.getUsers().users.length);
