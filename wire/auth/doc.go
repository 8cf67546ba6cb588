// Package auth decides what a client may do: it holds users, roles and their privileges,
// and runs the conversations by which a client proves to be a user.
//
//	Directory (users, roles; durable) ──► Grants of one user ──► May(action, namespace)
//	     │
//	     └──► Start ──► Conversation (SCRAM-SHA-1, SCRAM-SHA-256)
//
// A user's roles are resolved into Grants at its login, and again whenever the Directory
// has changed; a check of Grants costs a few map look-ups and no memory. Passwords are
// never stored: a user holds the data by which SCRAM checks a password.
//
// Glossary. Resource: the object of an action (the cluster, a database, a collection, or
// a pattern of these). Privilege: a resource and actions on it. Role: privileges and
// other roles under a name. Grants: all privileges of a user, indexed for checks.
package auth
