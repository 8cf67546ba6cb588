// Package peers holds what a server does together with its peers, the other servers over the same store: calls
// to all of them (Calls), the ownership of background jobs (Owners) and the division of budgets (Divider).
//
// Servers need no network connection to each other besides the store, and no shared secret: whatever they
// exchange is a row in the store. Peers notice a change of rows by a topic (keyspace.TouchTopic), as they
// notice changes of users and settings.
//
// A server that has the store exclusively is a cluster of one: its calls reach no peer and have no answers, it
// owns each job, and its share is all of each budget. That costs neither a row nor a goroutine.
//
// # Calls
//
// A server calls all its peers for data that each of them only has for itself, such as the RU it admitted or
// its hot keys. A call is a row in the store, and so is each answer; the caller removes both. An answer takes
// about 200 ms if nothing has changed for a while, and some 10 ms on a busy store. If a peer does not answer in
// time, the caller gets its name, and must show that this peer's part is missing. A server whose lease has
// expired is not called.
//
//	caller                        peer
//	row of the call     ────────▶ notices it, runs the function of Handle
//	waits, reads rows   ◀──────── row of its answer, only while the call is there
//	removes all rows
//
// The rows are described at callIDLen.
//
// # Owners
//
// Each background job has one owner among the servers, like the owner manager of TiDB. Each job has a row with
// the owner. A server takes a job if its row has no owner, or if the lease of the owner has expired. So after a
// server has died, its jobs go to peers when its lease ends, and jobs need no leases of their own.
//
// If the lease of a server expires and the server rejoins, it has lost all its jobs, whether peers have taken
// them or not. Each transaction of a job checks that with Guard, and the store refuses commits of transactions
// that began under the old lease.
//
// A job may have a note: its progress, which peers show, and requests of peers to its owner.
//
// The row of a job has the key keyspace.MetaJob, "duty." ‖ name, and this value:
//
//	field   bytes             meaning
//	owner   16                member of the store that owns the job
//	epoch   8, big-endian     the number of times that the job was taken, from 1
//	note    the rest          of the job; for work on a collection a BSON document (shard/jobs)
//
// # Budget shares
//
// The budgets of package ratelimit are divided among the servers, so that all servers together admit as much as
// one server alone would.
//
// Every server has a row with its demand: the use of each limited budget in the last second. In the middle of
// each second of the store's time, every server reads a snapshot of exactly that moment. All servers see the
// same rows and compute the same shares (ratelimit.Allot), and each adds its own share at the beginning of
// the next second. Nothing else is added, so the shares of a second never exceed the rate and what was left unused in
// the second before, however late the servers are: a server that reads late gets its share late, and a server that
// cannot read gets none.
//
//	second 7                second 8                second 9
//	├── requests ───────────┼─ row ──── state read ─┼─ share of second 9
//
// A server writes its row only if it had demand. A server without a recent row (see freshSeconds) counts as one
// without demand: it gets its part of the reserve and of what the demands leave. So a dead server has no more
// than that after three seconds, and an idle server writes nothing. The row of a dead server remains until another
// server removes it, and shows only that the server exists.
//
// A server without peers takes no part in the division: its own clock refills its budgets.
//
// The row of a server has the key keyspace.MetaQuota, member ID (16 bytes), and this value; amounts are in
// millionths of an RU:
//
//	field        encoding                 meaning
//	version      1 byte                   1; a row of another version counts as one without demand
//	second       varint                   the second in which it was written, since 1970; the demand is of the second before
//	needs        uvarint                  the number of budgets that follow, each with these fields:
//	database     uvarint length, bytes    the database, if the budget is of its shared RU/s
//	collection   uvarint                  the collection otherwise; 0 is the budget of metadata commands
//	shard        varint                   the shard of the budget
//	spent        varint                   charged
//	foreground   varint                   part of spent that is not background work
//	demand       varint                   spent, the expected price of refused and queued requests, and the debt
//	unused       varint                   part of the shares that was not used and is lost
package peers
