// Package sessions is the room of logical sessions: commands that start, refresh, end and kill them, and that
// commit or abort the transaction of a session.
//
// The sessions are in wire/session, and the chain determines the session of a command before the command runs; the
// room has no state of its own. The room provides the collection config.system.sessions and the stages
// $listLocalSessions and $listSessions.
//
// Words. End: a client ends a session that it does not need any more. Kill: to interrupt a session's commands, its
// transaction and its cursors. killSessions kills the user's own sessions and, with the privilege impersonate, listed
// ones of others; killAllSessions and killAllSessionsByPattern also those of other users.
//
// Sources: the manual's pages reference/command/nav-sessions and reference/server-sessions;
// the drivers' specifications sessions and transactions.
package sessions
