// Package tikvkv keeps a store in a TiKV cluster, through TiKV's Go client (client-go, here
// "the client").
//
//	storage.Txn ── writebuf.Buffer ── at commit: a transaction of the client, under a fence
//	storage.Reader ── gets, batches and pages of scans at one PD timestamp: the newest one seen
//	                  by this process, if that is certain to be new enough; see cached_ts.go
//	change log ── filed by place, read in the order of commit times; its end from memory, see log_tail.go
//
// A store consists of objects, each over those above it, which newStore joins:
//
//	cluster          requests through the client, with timeouts
//	oracle           timestamps of PD, and the newest one seen
//	lease            whether this process may read and write; membership acquires and renews it
//	cachedTS         read timestamps without a request to the oracle
//	snapshots        the open readers, and the safe point
//	rows             reads of single rows, of batches, and by pages
//	internalCommits  transactions of the engine itself
//	formatVersion    the level at which all servers write
//	changeLog        rows of the log, its end in memory, in-flight commits
//	committer        latches, two-phase commit, undetermined outcomes
//	regions          splits of regions
//	droppedRanges    deletes of ranges
//	safePoints       garbage collection
//
// Terms:
//
//	oracle       PD's timestamp oracle (TSO); its PD timestamps are unique and increase across the cluster
//	commit time  the PD timestamp of a commit
//	place        the PD timestamp under which a log record is stored; fixed before the commit time is
//	window       the longest time that a commit time may be after the place of its log records
//	lease        the right of this process to use the store until a time; see lease.go
//	fence        refuses a commit that would come after its window or after the lease; see fence.go
//	in-flight    a commit is in flight from its entry in the tail until its outcome is found; see inflight.go
//	request      one request through the client, with a timeout; see request.go
//
// The rows of a store. Their keys begin with "cantle/", the name of the keyspace, and "/". Numbers are
// big-endian, with their lengths in bytes; parts in brackets may be absent:
//
//	row                key                               value
//	exclusive server   'o'                               id(16) ‖ end of the lease(8) ‖ name
//	member             'o' ‖ 0 ‖ id(16)                  see below
//	safe point         'o' ‖ 1                           PD timestamp(8)
//	level              'o' ‖ 2                           level(4)
//	log record         'l' ‖ len(2) ‖ stream ‖ …         see log_keys.go
//	truncation         't' ‖ stream                      storage.Timestamp(8) of the last truncated record
//	value              'u' ‖ key                         0 ‖ value, or 1 ‖ number of chunks(4) ‖ size(8)
//	chunk of a value   'v' ‖ escaped key ‖ number(4)     up to 4 MiB of the value
//	dropped range      'd' ‖ escaped start [‖ 1 ‖ end]   PD timestamp(8) ‖ len(4) ‖ start [‖ 1 ‖ end]
//
// The value of a member's row, which holds its lease (storage.Member has the last three):
//
//	field     bytes             meaning
//	end       8, PD timestamp   end of the lease
//	safe      8, PD timestamp   the member refuses reads before it
//	oldest    8, PD timestamp   the member has no reader before it
//	level     4                 the newest level that the member can read
//	name      len(4), text      name for operators
//	about     len(4), bytes     description of the member
//	message   the rest          for the other members: the heartbeat of package catalog
//
// Differences from the contract of package storage:
//
//   - A latch lasts until all keys of the commit are committed, at most a second longer than Commit runs. If it ended
//     with Commit, the next writer of a hot key would find the locks that are still there.
//   - Only the last sixteen log records of a commit have distinct timestamps.
//   - A key has at most 7,000 bytes, a transaction at most 96 MiB.
package tikvkv
