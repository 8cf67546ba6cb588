// Package planned has the rules of the changes of RU/s that the server makes at their times: throughput prepared for a
// time (PrepareThroughput) and schedules (ScheduleThroughput), of a collection or of a database.
//
//	shard/ddl ──► Prepare, Cancel, Scheduled, Overridden     commands change what is planned
//	shard/jobs ─► Advance ──► RU/s that hold now             the owner of the job, once a second
//	shard/balance ─► Needed ──► splits before the time
//
// What is planned is part of the catalog entry, with the state of each change: whether prepared throughput is running and
// which RU/s follow, and the newest time of the schedule that has taken effect. Advance computes the next state from the
// stored one and the time. Its result is one catalog change, so a server that stops in between, or a second one that
// does the same work, changes nothing.
//
// The rules:
//
//   - The newest change holds: a row of the schedule that has become due, or a command that sets the RU/s.
//   - While prepared throughput runs, rows that become due change the RU/s that follow it. A command that sets the RU/s
//     ends it: the RU/s of the command hold, also after its time.
//   - Of times that have passed while no server ran, the newest due one of the schedule holds. Prepared throughput whose time has
//     passed as a whole is dropped.
//   - RU/s that have become too low (for the stored data or the highest RU/s so far) are raised to the lowest allowed.
//
// The functions are pure. Expressions of times are those of cron, by github.com/robfig/cron.
package planned
