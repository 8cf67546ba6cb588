// Package status is the room of commands that report the state of the server, such as hello, serverStatus, currentOp,
// top, the profiler, logs and those about the replica set as which the server presents itself, of fsync, killOp and
// shutdown, and of the metrics for Prometheus (Metrics).
//
// The room holds the latencies, the counters of top for each collection, the profiler's levels, the lock of fsync,
// the block of users' writes, and the arguments of autoCompact. It observes each command that begins, for the
// profiler, and each command that ends. The room implements command.WriteGate and command.Profiler, and provides the
// stage $currentOp and the collections admin.system.version, local.oplog.rs (without its documents),
// local.startup_log and local.system.replset.
//
// Invariants: counters are counted where the counted event happens; this package counts only completed commands.
// Numbers of MongoDB's engine that monitoring tools require are in the replies, filled with the nearest equivalent;
// other numbers of that engine are left out. No command that counts as a write begins while fsync's lock is held.
//
// Words. Section: a part of serverStatus that a request can include or exclude. Member: the role in which the server
// appears to clients that expect a replica set; other clients see a mongos.
//
// Sources: the manual's pages reference/command/nav-diagnostic, reference/command/hello,
// reference/database-profiler and reference/command/nav-replication.
package status
