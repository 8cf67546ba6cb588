// Package access is the room of who may do what: logging in and out, users and roles, and
// what they are allowed.
//
//	saslStart ─► saslContinue ─► (proven) ─► Peer.Login     SCRAM
//	authenticate ──────────────────────────► Peer.Login     X.509
//
// Users and roles stand in wire/auth's directory; the commands here read arguments, change
// the directory and print it. The room owns what a login needs beside it: how slowly the next
// attempt of an address that failed is answered, the counts for serverStatus, and the account
// that the Cosmos listener knows.
//
// It answers the chain's hooks Login, FirstUser, Speculate, Mechanisms and Security, and the
// collections admin.system.users and admin.system.roles.
//
// Invariants: nobody learns from an answer to a login whether a user exists; passwords are in
// no reply and no log. A login is looked up again once the directory has changed, so that a
// change of a user's roles counts from the next command on.
//
// Words: the directory has the users and roles of this server, the account is the one user
// that Azure Cosmos DB has. An exchange is one message of a conversation and its answer.
//
// Sources: the manual's pages reference/command/nav-authentication, nav-user-management and
// nav-role-management; the drivers' specification auth.
package access
