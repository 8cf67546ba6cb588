// Package quota divides the budgets of package ratelimit among the servers over one store, so that all
// servers together admit as much as one server alone would.
//
// Every server has a row with its demand: the use of each limited budget in the last second. In the middle of
// each second of the store's time, every server reads a snapshot of exactly that moment. All servers see the
// same rows and compute the same shares (ratelimit.Allot), and each adds its own share at the beginning of
// the next second. Nothing else is added, so the shares of a second never exceed the rate, however late the
// servers are: a server that reads late gets its share late, and a server that cannot read gets none.
//
//	second 7                second 8                second 9
//	├── requests ───────────┼─ row ──── state read ─┼─ share of second 9
//
// A server writes its row only if it had demand. A server without a recent row (see freshSeconds) counts as one
// without demand, and gets its part of the reserve. So a dead server has no share after three seconds, and an
// idle server writes nothing. The row of a dead server remains until another server removes it, and shows
// only that the server exists.
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
package quota
