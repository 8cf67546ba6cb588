package programme

// Promises are the promises to users about the safety of data on one server, in the order of FAULTS.md.
var Promises = [...]string{
	"**Acknowledged writes are on the disk.** A write that was answered without an error survives `kill -9`, a power failure and a restart. With `--sync` and an interval, the writes of the last interval can be lost; `writeConcern: {w: 0}` has no guarantee.",
	"**After a crash at any moment the server opens its folder, or reports exactly what is damaged.** Nothing is half done: no write, no transaction, no index, no split. It never gives a wrong answer instead.",
	"**Isolation is as MongoDB documents it.** Transactions see one snapshot and conflict if they write the same document; single-document operations are linearizable; sessions are causally consistent; a retried write is executed once.",
	"**Every document is counted once.** Documents, index entries, counts, the change log and the charges agree, also after crashes, splits and reshards.",
	"**Damage is detected before it is served.** Every flipped bit leads to an error that names the damage, never to a wrong answer; undamaged data beside it can be read and saved.",
	"**Trouble is reported by name.** If the disk is full, slow or fails, if memory or file descriptors run out, if the clock jumps or a client is hostile, commands fail with errors that name the remedy. When the cause is gone the server recovers by itself, or has stopped and starts again with all acknowledged writes.",
	"**The next version opens the data of this version**, in place and without a dump. This version refuses data of the next one with a clear error.",
	"**Every moment that backups cover can be restored exactly**, to the commit, including data that was dropped later. An incomplete backup is detected, and never taken for a complete one.",
	"**A machine may burn down.** With a follower, writes continue seconds after its promotion. An acknowledged write is missing only if it is newer than the last moment that the lost server showed as covered, and no write is there twice.",
	"**Users see and change only what their roles allow**, however a request is written: the request that is checked is the request that is executed.",
}

// NotShown lists the faults that the fault programme does not check, for FAULTS.md.
var NotShown = []string{
	"Disks that report data as synced when it is not: data that they lose is lost. The loss is detected if the log's mark (`SYNCED`) or a checksum shows it.",
	"Memory that flips bits after a checksum was compared, and bugs of the operating system or of the Go runtime.",
	"Replication by votes: a follower is a copy that is seconds behind (docs/backup.md). A TiKV cluster has it (docs/scale-out.md), and is simulated in these tests.",
	"Operating systems other than Linux: power cuts and I/O errors are simulated between the storage engine and the system, so they do not show how a file system of macOS or Windows behaves.",
}
