package programme

// Promises are the promises to users about one server, in their order.
var Promises = [...]string{
	"**What was acknowledged is on the disk.** A write that was answered without an error is there after `kill -9`, a power cut or a restart. `--sync` with an interval gives that up for as long as the interval says; `writeConcern: {w: 0}` never had it.",
	"**After any crash, at any moment, the server opens its folder, or says exactly what is damaged.** Nothing is half there: not a write, not a transaction, not an index, not a split. It never answers wrongly instead.",
	"**Isolation is what MongoDB's words say.** Transactions see one snapshot and conflict when they write the same; single-document operations are linearizable; sessions are causal; a retried write is done once.",
	"**Every document is counted once.** Documents, index entries, counts, the change log and what was charged agree, also after crashes, splits and reshards.",
	"**Damage is found before it is served.** Any flipped bit is an error that names what is damaged, never a wrong answer; what lies beside it can be read and saved.",
	"**Hardship is told by name.** A full or slow disk, a disk that errs, little memory, few descriptors, a clock that jumps or a hostile client make commands fail with errors that say what to do, and when the cause is gone the server is well again without help, or has ended and starts again with all that it acknowledged.",
	"**The next version opens this version's data**, in place and without a dump, and this one refuses the next one's with a sentence.",
	"**Any moment that backups cover comes back as it was**, to the commit, with what was dropped since; a backup that is not whole is found, and never taken for one that is.",
	"**Nobody sees or changes more than their roles allow**, however a request is written: what is compared with the roles is what runs.",
}

// NotShown are the limits of what the programme checks.
var NotShown = []string{
	"Disks that say that something is synced when it is not: what they lose is lost. It is noticed where the log's mark (`SYNCED`) or a checksum tells.",
	"Memory that flips bits after a checksum was compared, and bugs of the operating system or of the Go runtime.",
	"Several servers: there is no replication (see docs/scale-out.md for what holds on a TiKV cluster, which is simulated in these tests).",
	"Operating systems other than Linux: power cuts and I/O errors are simulated between the storage engine and the system, so they say nothing about how a file system of macOS or Windows behaves.",
}
