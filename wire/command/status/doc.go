// Package status is the room of how the server is doing: hello, serverStatus, currentOp and
// killOp, top, the profiler, logs, the replica set that it looks like, fsync, and the numbers
// for Prometheus (Metrics).
//
// The room owns the latencies, what top counts of each collection, the profiler's levels, the
// lock of fsync, the block of users' writes, and what autoCompact was told. It sees each command that begins, for the
// profiler, and each that ends; it answers the chain's hooks EnterWrite, LeaveWrite, Begin
// and Profiled, the stages $currentOp and $queryStats, and the collections
// admin.system.version, local.startup_log and local.system.replset.
//
// Invariants: a number is counted where the thing happens and only printed here. What
// monitoring tools cannot do without has its place in the reply, filled from what is nearest
// here; other numbers of MongoDB's engine are left out. While fsync's lock is held no write
// begins.
//
// Words: a section is a part of serverStatus that can be left out or asked for. A member is
// the server as hello shows it to clients that want a replica set; to others it is a mongos.
//
// Sources: the manual's pages reference/command/nav-diagnostic, reference/command/hello,
// reference/database-profiler and reference/command/nav-replication.
package status
