// Package access is the room of access control: logging in and out, users and roles, and their privileges.
//
//	saslStart ─► saslContinue ─► (proven) ─► ConnState.Login     SCRAM
//	authenticate ──────────────────────────► ConnState.Login     X.509
//
// Users and roles are stored in wire/auth's directory; the commands here read arguments, change the directory and
// format its contents. The room holds the other state of logins: the delays after failed attempts of an address, the
// counts for serverStatus, and the account of the Cosmos listener.
//
// The room implements command.Authenticator, and provides the collections admin.system.users and admin.system.roles.
//
// Invariants: the reply to a login attempt does not reveal whether a user exists; no reply and no log contains a
// password. After a change of the directory, the privileges of each logged-in user are looked up again, so that a
// change of roles takes effect at the next command.
//
// Words. Directory: the users and roles in the store, which all its servers share. Account: the user of the Cosmos
// listener that is not in the directory. Exchange: one message of a login conversation and its answer.
//
// Sources: the manual's pages reference/command/nav-authentication, nav-user-management and
// nav-role-management; the drivers' specification auth.
package access
