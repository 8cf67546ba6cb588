// Package sessions is the room of logical sessions: to start, refresh, end and kill them, and
// to commit or abort the transaction that runs in one.
//
// Sessions themselves are wire/session's, and which one a command belongs to is found out by
// the chain, before the command runs; the room has no state of its own. It answers the
// collection config.system.sessions and the stages $listLocalSessions and $listSessions.
//
// Words: to end a session is what a client does that needs it no more. To kill one interrupts
// what it does, its transaction and its cursors; killSessions is for the user's own sessions,
// killAllSessions and killAllSessionsByPattern are for those of others.
//
// Sources: the manual's pages reference/command/nav-sessions and reference/server-sessions;
// the drivers' specifications sessions and transactions.
package sessions
