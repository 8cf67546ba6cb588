// Package abuse runs malicious or broken clients against a server, while another client goes on with point reads:
// broken frames, connections half open, slow or many, commands without end. After each of them the server must
// answer, have hardly more goroutines and connections and no more cursors than before, and not have filled its log.
// The effect on the other client's latency and, except nightly, on the memory is printed, not judged: times on a
// shared machine prove nothing.
//
// TestHostile is about single commands that cost as much as a client can make them cost: each must end soon after
// its maxTimeMS and soon after its client closes its connection. The latency of the pings of two other clients is
// printed, and must not exceed a generous limit.
//
// TestHostileUser is about users: a user without roles and an owner of another database run one attack after
// the other with the privileges they have, while a user reads and writes documents of its own.
//
//	CANTLE_LONG   if set, all hostile commands, else a selection of them; and hostile users
//	              for ten minutes, else for half a minute
//	CANTLE_LONG   nightly: everything is larger (10,000 idle connections, …), the
//	              abusers have the lowest priority, so that the times show the work of the
//	              server, and the memory is judged as well, which takes minutes
package abuse
