package programme

// Row is a row of the fault programme: a kind of fault, with the tests that check that the server survives it.
type Row struct {
	// Name is the short name of the row. It must not change, because results are stored under it.
	Name string
	// Promises are the numbers of the promises that the row checks.
	Promises []int
	// What describes the fault in a sentence for users.
	What string
	// Unit is the plural name of what is counted.
	Unit string
	// Run, Nightly and Release are the numbers of faults that tests do in each run, at night and before a release;
	// 0 means as many as there are.
	Run, Nightly, Release int
	// AtNight means that the test run of a change skips the row. A test that is run alone does the number Run of
	// it.
	AtNight bool
	// Tests are the tests of the row, each as its folder and the name of its function.
	Tests []string
	// Note explains an unusual number to readers of FAULTS.md; "" for none.
	Note string
	// Canary describes the planted bug that the row's tests must find; CanaryTest is the test that plants it.
	Canary, CanaryTest string
}

// Rows are the rows of the fault programme.
var Rows = []Row{
	{
		Name: "power-cut", Promises: []int{1, 2, 4}, Unit: "cuts", Run: 2_500, Nightly: 200_000, Release: 2_000_000,
		What:   "The power fails before every operation on files (write, sync, create, rename, remove) of thirteen scenarios of a whole server: inserts, transactions, index builds, conversions of indexes, splits, merges, reshards, drops, expiry, checkpoints, users, trimming of the change log, the first start on a folder of an older release. None, a random half, or all of the data that was not synced is kept. The server opens the remaining files, has every acknowledged write and no partial ones, and all data is consistent",
		Tests:  []string{"compat-tests/faults/disk TestPowerCut"},
		Canary: "four: a log and a list of tables that are not synced, index entries and documents that are left out of their batches", CanaryTest: "compat-tests/faults/disk TestCutCanaries",
	},
	{
		Name: "io-error", Promises: []int{1, 2, 6}, Unit: "errors", Run: 600, Nightly: 50_000, Release: 1_000_000,
		What:   "The n-th read, write, sync, create, rename or remove of the same scenarios fails, once or from then on, also during startup. Clients get errors that name the cause and never a wrong answer, or the server stops and logs why; started again on a working disk, it has all acknowledged writes",
		Tests:  []string{"compat-tests/faults/disk TestErrors"},
		Canary: "two: errors of writes are ignored; files that cannot be read are treated as missing", CanaryTest: "compat-tests/faults/disk TestErrorCanaries",
	},
	{
		Name: "hardship", Promises: []int{6}, Unit: "rounds", Run: 24, Nightly: 400, Release: 4_000,
		What:   "The disk is full up to its reserve; no more files can be opened; every sync takes 1, 50 or 500 ms longer, or hangs, while reads continue and a write with a time limit ends at that limit; the clock jumps an hour forward and back under expiring documents, the change log, sessions, cursors, transactions, snapshots and budgets. Errors name the cause, nothing hangs, is granted twice or expires early, and the server recovers without a restart when the cause is gone",
		Tests:  []string{"compat-tests/faults/disk TestHardship"},
		Canary: "two: no disk space is reserved; elapsed time is measured by the wall clock", CanaryTest: "compat-tests/faults/disk TestHardshipCanaries",
	},
	{
		Name: "full-disk", Promises: []int{1, 6}, Unit: "rounds", Run: 3, Nightly: 40, Release: 400,
		What:   "A small file system of its own, in memory or in a file, is filled by inserts, updates, index builds, backups on the same disk and a file of another program. Single and bulk deletes, drops and the removal of that file free space, also after a restart and `kill -9`. The server stays up and serves reads all the time, refuses all writes that add data with the same code and message, and accepts writes again within a minute after space can be freed; all acknowledged writes are there",
		Tests:  []string{"compat-tests/faults/fulldisk TestFull"},
		Canary: "the server does not notice that the reserve is used up", CanaryTest: "compat-tests/faults/fulldisk TestCanary",
	},
	{
		Name: "kill", Promises: []int{1, 2, 3, 4}, Unit: "kills", Run: 60, Nightly: 2_000, Release: 20_000,
		What:   "`kill -9` while drivers write, at each step of splits, merges and reshards, and while change streams are read",
		Tests:  []string{"compat-tests/faults/crash TestKillDuringWrites", "compat-tests/faults/crash TestKillDuringStructureChanges", "compat-tests/faults/crash TestChangesThroughKills", "compat-tests/faults/crash TestRetryAfterKill", "compat-tests/faults/spill TestKillLeavesNothing"},
		Canary: "the log is kept in the memory of the process", CanaryTest: "compat-tests/faults/crash TestCanary",
	},
	{
		Name: "bit-flip", Promises: []int{2, 5}, Unit: "damages", Run: 40, Nightly: 500, Release: 500_000,
		What:   "A bit is flipped, a block zeroed or a file truncated, anywhere in tables, log, manifest or settings: the server refuses the folder or answers like the model, `check` finds the damage, and `salvage` saves everything outside of the damaged block",
		Note:   "Each damage needs a copy of a folder and three or four program starts: a quarter of a second on an idle machine with two cores, three seconds on a busy one. The 40 of each run take 10 seconds. 500 would take two minutes of the 20 that a change may take, so they run at night; 20,000 would not finish in a night on a busy machine",
		Tests:  []string{"compat-tests/faults/damage TestRandomDamage"},
		Canary: "checksums of blocks are not compared", CanaryTest: "compat-tests/faults/damage TestCanary",
	},
	{
		Name: "histories", Promises: []int{3}, Unit: "operations", Run: 30_000, Nightly: 10_000_000, Release: 1_000_000_000,
		What:   "Many clients append to lists and write registers, inside and outside of transactions, while collections are split and resharded, budgets run out, connections break and the power fails, in virtual time; the same over TCP with drivers and kills, and bank transfers. Independent checkers verify the histories: no dependency cycle that snapshot isolation forbids, and none that contradicts real-time order",
		Canary: "commits do not check for conflicts", CanaryTest: "compat-tests/consistency/simulation TestHistoriesCanary",
		Tests: []string{"compat-tests/consistency/simulation TestHistories", "compat-tests/consistency/isolation TestBank", "compat-tests/consistency/isolation TestAppend", "compat-tests/consistency/isolation TestRegisters", "compat-tests/consistency/isolation TestKills"},
	},
	{
		Name: "cursors", Promises: []int{3}, Unit: "rows", Run: 0, Nightly: 0, Release: 0,
		What:   "Cursors, snapshots of the past, cursors of transactions that write between their batches, tailable cursors, and change streams that are resumed at any token. At the same time clients write, hundreds of cursors are parked, collections are split, merged, moved, resharded and indexed, and servers end by `kill -9`. The test runs in memory, on files, and on three servers over a simulated TiKV cluster. Each row comes once and in order, no row is missing, no row is outside the snapshot, and no effect comes before its cause",
		Tests:  []string{"compat-tests/consistency/cursors TestInTransactions", "compat-tests/consistency/cursors TestMoving"},
		Canary: "three: a cursor of a transaction that sees later writes, a change stream that leaves out one change in a thousand, a tailable cursor that skips a document", CanaryTest: "compat-tests/consistency/cursors TestCanary",
	},
	{
		Name: "random", Promises: []int{4}, Unit: "operations", Run: 50_000, Nightly: 10_000_000, Release: 1_000_000_000,
		What:   "Random operations give the same results with one, seven and eight partitions, with indexes, and in a naive model",
		Tests:  []string{"compat-tests/consistency/differential TestMetamorphic", "compat-tests/consistency/differential TestPipelines"},
		Canary: "when results of partitions are merged, only the first bytes of sort keys are compared", CanaryTest: "compat-tests/consistency/differential TestCanary",
	},
	{
		Name: "ways", Promises: []int{4}, Unit: "comparisons", Run: 50_000, Nightly: 6_000_000, Release: 60_000_000,
		What:   "The answer to a question does not depend on the way in which the documents are kept. The same random documents are kept without an index, with indexes of every kind, sharded, clustered, capped, behind a view, in an uncommitted transaction, on a server that spills at once, while partitions are split, merged, moved and resharded, at a time in the past, on files, on one and on three servers over a simulated TiKV cluster, after `kill -9`, and restored from a backup. Each question is sent with hints, in batches, after other questions of the same shape, and in equivalent forms. An evaluator that shares no code with the server checks the answers. A difference is reduced and printed as a short script",
		Tests:  []string{"compat-tests/consistency/differential TestWays"},
		Canary: "ten bugs that the server had before, or similar ones: cached plans that are kept after reading ahead past their work limit, cursors that lose their position after writes of their transaction, numbers and empty names in paths that an index or a join reads differently from a scan, metadata and orders of fields that depend on memory", CanaryTest: "compat-tests/consistency/differential TestCanaries",
	},
	{
		Name: "simulation", Promises: []int{1, 2, 3, 4, 6}, Unit: "seeds", Run: 60, Nightly: 50_000, Release: 1_000_000,
		What:   "Whole servers run in virtual time, on a simulated disk that loses unsynced data, with connections in memory; one seed determines what clients do and what fails. CRUD, transactions, some of which write between the batches of their cursors, change streams, expiring documents, splits, merges, reshardings, indexes and exhausted budgets run while the power fails, the disk fails, connections break and the wall clock jumps by up to an hour. A model records the acknowledged and the refused writes; streams, indexes, counts and charges must agree with it",
		Note:   "Nightly runs use the released server on all cores; each run uses a test build with self-checks",
		Tests:  []string{"compat-tests/consistency/simulation TestSeeds"},
		Canary: "seven: writes acknowledged before they are on the disk, retries that are executed twice, surplus and missing index entries, a change that is missing in the log, a cursor that sees later writes of its transaction, a transaction that is applied in part", CanaryTest: "compat-tests/consistency/simulation TestCanary",
	},
	{
		Name: "fuzz", Promises: []int{6}, Unit: "targets", AtNight: true,
		What:   "Every parser of untrusted input is fuzzed, each target for five minutes per night. Inputs that have found a bug, and the seed inputs of the targets, are tests of each run",
		Note:   "An hour per target would take longer than a night, so each has five minutes",
		Tests:  []string{"scripts/testall fuzz"},
		Canary: "the length of a document is not checked against the available bytes", CanaryTest: "scripts/testall TestFuzzCanary",
	},
	{
		Name: "backup", Promises: []int{8}, Unit: "moments", Run: 10, Nightly: 200, Release: 2_000,
		What:   "Writers, DDL, splits, new shard keys and `kill -9` run while backups are made. Then the folder is destroyed, and random moments are restored, as whole servers and into running ones: each equals the state that the writers have recorded",
		Tests:  []string{"compat-tests/faults/backup TestDrill"},
		Canary: "one write too many is replayed", CanaryTest: "compat-tests/faults/backup TestCanary",
	},
	{
		Name: "burned-down", Promises: []int{9}, Unit: "machines", Run: 1, Nightly: 24, Release: 240,
		What:   "A machine burns down: while clients write, a primary is killed by `kill -9` and its folder is deleted, and its follower becomes the primary, by `cantle promote` over a folder and over an object store with failing requests, and by `--promote-after`. Acknowledged writes that are missing are newer than the last moment that the primary showed as covered; no write is there twice, and clients continue without code for it. Two numbers are counted: the age of the oldest lost write at the kill (seconds lost), and the time from the kill to the next acknowledged write (seconds down)",
		Tests:  []string{"compat-tests/faults/takeover TestBurnedDown"},
		Canary: "a server shows moments as covered that are not in the backups yet", CanaryTest: "compat-tests/faults/takeover TestCanary",
	},
	{
		Name: "upgrade", Promises: []int{7}, Unit: "upgrades", Run: 2, Nightly: 50, Release: 500,
		What:   "A folder of every released format is opened, compared, written to and opened again, also under load, where clients notice only a pause; a newer format is refused with a clear error. Folders that earlier commits of this repository have written (nightly: every fiftieth commit) are opened: documents and every kind of index give the same answers as in a new folder, and `check` and `validate` find nothing",
		Tests:  []string{"compat-tests/faults/upgrade TestReleased", "compat-tests/faults/upgrade TestHistory", "compat-tests/faults/upgrade TestTraffic", "compat-tests/faults/upgrade TestNewer"},
		Canary: "three: validators in the catalog are ignored; a newer format is treated as a known one; indexes of another version are treated as indexes of this version", CanaryTest: "compat-tests/faults/upgrade TestCanary",
	},
	{
		Name: "hostile", Promises: []int{6}, Unit: "commands", Run: 40, Nightly: 0, Release: 0,
		What:   "The most expensive commands that a client can send, and hostile clients, run beside the work of others: every command ends within its maxTimeMS and when its client disconnects",
		Note:   "Each run has some fixed commands and a random selection of the others, so that every command is run at some time",
		Tests:  []string{"compat-tests/faults/abuse TestHostile"},
		Canary: "a command that never checks for its time limit or interruption", CanaryTest: "compat-tests/faults/abuse TestHostileCanary",
	},
	{
		Name: "authorization", Promises: []int{10}, Unit: "requests", Run: 40_000, Nightly: 4_000_000, Release: 40_000_000,
		What:   "Users without a role, or with one narrow role, send every command, stage and argument, mutated: duplicate fields, null first, other numbers, fractions, NaN, symbols, UUIDs, other order, nested, within explain, views, bulkWrite, transactions and document sequences. All data that they may not see contains marks. A mark or a count of such data in a reply, a password in the log, or a change of any other data is a failure, and is reduced to the smallest request that causes it",
		Tests:  []string{"compat-tests/behaviour/authfuzz TestGap"},
		Canary: "seven: of two fields with the same name the check reads another one than the command, or it rounds, resolves or completes a name differently", CanaryTest: "compat-tests/behaviour/authfuzz TestCanary",
	},
	{
		Name: "memory", Promises: []int{6}, Unit: "ways", Run: 0, Nightly: 0, Release: 0,
		What:   "Many clients make the server allocate as much memory as they can, with the minimum of `--work-memory`: messages, sorts and groups, replies, open transactions; an application exceeds its share, a user opens too many sessions or creates too many users and definitions, also after a restart; connections stay idle; and many of these happen at once in a server with 256 MiB (GOMEMLIMIT). Errors name the remedy, other clients continue to be served, and all memory is released",
		Tests:  []string{"compat-tests/faults/memory TestQueriesShareMemory", "compat-tests/faults/memory TestQueriesThatCannotSpillFail", "compat-tests/faults/memory TestHalfSentMessages", "compat-tests/faults/memory TestUnreadReplies", "compat-tests/faults/memory TestUncommittedWritesShareMemory", "compat-tests/faults/memory TestApplicationsShareMemory", "compat-tests/faults/memory TestApplicationsShareUncommittedWrites", "compat-tests/faults/memory TestApplicationsTakeTurns", "compat-tests/faults/memory TestApplicationsShareTheInbox", "compat-tests/faults/memory TestIdleConnections", "compat-tests/faults/memory TestLittleMemory", "compat-tests/faults/memory TestUsersShareSessions", "compat-tests/faults/memory TestUsersAreBounded", "compat-tests/faults/memory TestDefinitionsAreBounded"},
		Canary: "every request for memory is granted; three of the ways detect it", CanaryTest: "compat-tests/faults/memory TestCanary",
	},
	{
		Name: "gateway", Promises: []int{1, 3}, Unit: "kills", Run: 3, AtNight: true, Nightly: 100, Release: 1_000,
		What:   "Servers over a simulated TiKV cluster: one is killed under load and another takes over; the cluster becomes unreachable or hangs, and recovers. Three servers run while some are killed or suspended beyond their lease, the cluster returns errors, and collections are split, resharded, indexed and renamed",
		Tests:  []string{"compat-tests/servers/processes TestKill", "compat-tests/servers/processes TestPeersAway", "compat-tests/servers/processes TestHangs", "compat-tests/servers/processes TestOneAtATime", "compat-tests/servers/processes TestChaos"},
		Canary: "one commit in a hundred is acknowledged and not executed; a change of the catalog does not wait for the other servers", CanaryTest: "compat-tests/servers/processes TestCanary",
	},
}

// amount returns the number of faults that the row has to do in a column, 0 for as many as there are.
func (r Row) amount(column string) int {
	switch column {
	case Nightly:
		return r.Nightly
	case Release:
		return r.Release
	}
	return r.Run
}

// find returns the row with a name.
func find(name string) (Row, bool) {
	for _, r := range Rows {
		if r.Name == name {
			return r, true
		}
	}
	return Row{}, false
}
