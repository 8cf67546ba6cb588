// Package abuse runs clients that mean harm or do not know better against a server,
// while another one goes on with point reads: broken frames, connections half open,
// slow or many, commands without end. After each of them the server must answer, have
// as many goroutines, connections and cursors as before, and not have filled its log.
// What each cost the other client and the memory is printed, not judged: times on a
// shared machine prove nothing.
//
// TestHostile is about single commands that cost as much as a client can make them cost:
// each ends soon after its maxTimeMS and soon after its client goes away, and what it costs
// the pings of two other clients is printed.
//
// TestHostileUser is about users: one without roles and one who owns another database do what
// they can behind the login, one attack after the other, while a user reads and writes
// documents of its own.
//
//	CANTLE_LONG   if set, all hostile commands, else a selection of them; and hostile users
//	              for ten minutes, else for half a minute
//	CANTLE_LONG   nightly: everything is larger (10,000 idle connections, …), the
//	              abusers have the lowest priority, so that the times tell what the
//	              server does, and the memory is judged as well, which takes minutes
package abuse
