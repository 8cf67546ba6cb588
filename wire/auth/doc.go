// Package auth knows who may do what: users, roles, the privileges that these add
// up to, and the conversations by which a client proves to be a user.
//
//	Directory (users, roles; durable) ──► Grants of one user ──► May(action, namespace)
//	     │
//	     └──► Start ──► Conversation (SCRAM-SHA-1, SCRAM-SHA-256)
//
// A user's roles are resolved once, when it logs in or when anything in the
// Directory changed since, into Grants; asking them costs a few map look-ups and no
// memory. Passwords are never kept: a user holds what SCRAM needs to check one.
//
// Glossary. Resource: what an action is on (the cluster, a database, a collection,
// or a pattern of these). Privilege: a resource and actions on it. Role: privileges
// and other roles under a name. Grants: all privileges of a user, ready to be asked.
package auth
