package programme

// Row is a kind of fault, with the tests that check that the server survives it.
type Row struct {
	// Name is short and must not change: results are stored under it.
	Name string
	// Promises are the numbers of the promises that the row checks.
	Promises []int
	// What describes the fault in a sentence for users.
	What string
	// Unit is the plural name of what is counted.
	Unit string
	// Run, Nightly and Release are the numbers that are due in each column; 0 means as many as there are.
	Run, Nightly, Release int
	// AtNight reports that the run of a change skips the row. A test that is run alone does Run of it.
	AtNight bool
	// Tests are the tests of the row: folder and name of the function.
	Tests []string
	// Note explains unusual numbers; "" for none.
	Note string
	// Canary is the planted bug that the row must find, and CanaryTest the test of that.
	Canary, CanaryTest string
}

// Rows are the rows of the fault programme.
var Rows = []Row{
	{
		Name: "power-cut", Promises: []int{1, 2, 4}, Unit: "cuts", Run: 5_000, Nightly: 200_000, Release: 2_000_000,
		What:   "The power fails before every operation on files (write, sync, create, rename, remove) of thirteen scenarios of a whole server: inserts, transactions, index builds, conversions of indexes, splits, merges, reshards, drops, expiry, checkpoints, users, trimming of the change log, the first start on a folder of an older release. Of what was not synced nothing, a random half or all is kept. The server opens what is left, has every acknowledged write and nothing half, and all of it fits together",
		Tests:  []string{"compat-tests/faults/disk TestPowerCut"},
		Canary: "four: a log and a list of tables that are not synced, index entries and documents left out of their batches", CanaryTest: "compat-tests/faults/disk TestCutCanaries",
	},
	{
		Name: "io-error", Promises: []int{1, 2, 6}, Unit: "errors", Run: 1_000, Nightly: 50_000, Release: 1_000_000,
		What:   "The n-th read, write, sync, create, rename or remove of the same scenarios fails, once or from then on, at the start as well. Clients get errors that say so and never a wrong answer, or the server ends and says why; started again on a disk that works, it has all it acknowledged",
		Tests:  []string{"compat-tests/faults/disk TestErrors"},
		Canary: "two: errors of writes are overheard, what cannot be read is taken for what is not there", CanaryTest: "compat-tests/faults/disk TestErrorCanaries",
	},
	{
		Name: "hardship", Promises: []int{6}, Unit: "rounds", Run: 24, Nightly: 400, Release: 4_000,
		What:   "The disk is full up to its reserve; no more files can be opened; every sync takes 1, 50 or 500 ms longer, or does not end while others read and a write with a time limit ends with that; the clock steps an hour ahead and back under documents that expire, the change log, sessions, cursors, transactions, snapshots and budgets: errors with a name, nothing stuck, given twice or ended early, and all is well when the cause is gone, without a restart",
		Tests:  []string{"compat-tests/faults/disk TestHardship"},
		Canary: "two: nothing of the disk is kept free, the clock on the wall is taken for the time that passes", CanaryTest: "compat-tests/faults/disk TestHardshipCanaries",
	},
	{
		Name: "full-disk", Promises: []int{1, 6}, Unit: "rounds", Run: 3, Nightly: 40, Release: 400,
		What:   "A small file system of its own, in memory or in a file, is filled by inserts, updates, index builds, backups on the same disk and a stranger's file. Deletes, one by one and many at once, drops and the end of the stranger make room, also after a restart and `kill -9`. The server lives and reads all the time, refuses whatever adds with one code and one sentence, and takes writes again within a minute of there being something that can be let go; everything that was acknowledged is there",
		Tests:  []string{"compat-tests/faults/fulldisk TestFull"},
		Canary: "the end of the reserve is overlooked", CanaryTest: "compat-tests/faults/fulldisk TestCanary",
	},
	{
		Name: "kill", Promises: []int{1, 2, 3, 4}, Unit: "kills", Run: 100, Nightly: 2_000, Release: 20_000,
		What:   "`kill -9` while drivers write, at each step of splits, merges and reshards, and while change streams are read",
		Tests:  []string{"compat-tests/faults/crash TestKillDuringWrites", "compat-tests/faults/crash TestKillDuringStructureChanges", "compat-tests/faults/crash TestChangesThroughKills", "compat-tests/faults/crash TestRetryAfterKill", "compat-tests/faults/spill TestKillLeavesNothing"},
		Canary: "a log that is kept in the memory of the process", CanaryTest: "compat-tests/faults/crash TestCanary",
	},
	{
		Name: "bit-flip", Promises: []int{2, 5}, Unit: "damages", Run: 60, Nightly: 500, Release: 500_000,
		What:   "A bit flipped, a block zeroed or the end cut off, anywhere in tables, log, manifest or settings: the server refuses the folder or answers as the model does, `check` finds it, `salvage` saves what is not in the damaged block",
		Note:   "Each damage is a copy of a folder and the start of three or four programs, a quarter of a second on a quiet machine with two cores and three seconds on a busy one: the 60 of each run take 15 seconds, and 500 would take two minutes of the 20 that a change may take, so they are the night's, in which 20,000 would not end on a busy machine",
		Tests:  []string{"compat-tests/faults/damage TestRandomDamage"},
		Canary: "checksums of blocks are not compared", CanaryTest: "compat-tests/faults/damage TestCanary",
	},
	{
		Name: "histories", Promises: []int{3}, Unit: "operations", Run: 50_000, Nightly: 10_000_000, Release: 1_000_000_000,
		What:   "Lists that are appended to and registers, by many clients, in transactions and alone, while collections are split and resharded, budgets run out, connections break and the power fails, in virtual time; the same over TCP with drivers and kills, and bank transfers. Histories are judged by checkers that know nothing of the server: no circle of dependencies that snapshot isolation forbids, none against the order of real time",
		Canary: "conflicts are not looked for at the commit", CanaryTest: "compat-tests/consistency/simulation TestHistoriesCanary",
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
		What:   "Random operations: one partition = seven = eight = with indexes = a naive model",
		Tests:  []string{"compat-tests/consistency/differential TestMetamorphic", "compat-tests/consistency/differential TestPipelines"},
		Canary: "sort keys are compared by their first bytes only where results of partitions are merged", CanaryTest: "compat-tests/consistency/differential TestCanary",
	},
	{
		Name: "ways", Promises: []int{4}, Unit: "comparisons", Run: 120_000, Nightly: 6_000_000, Release: 60_000_000,
		What:   "The answer to a question does not depend on the way in which the documents are kept. The same random documents are kept without an index, with indexes of every kind, sharded, clustered, capped, behind a view, in an uncommitted transaction, on a server that spills at once, while partitions are split, merged, moved and resharded, at a time in the past, on files, on one and on three servers over a simulated TiKV cluster, after `kill -9`, and restored from a backup. Each question is sent with hints, in batches, after other questions of the same shape, and in equivalent forms. An evaluator that shares no code with the server checks the answers. A difference is reduced and printed as a short script",
		Tests:  []string{"compat-tests/consistency/differential TestWays"},
		Canary: "ten bugs that the server had before, or similar ones: cached plans that are kept after reading ahead past their work limit, cursors that lose their position after writes of their transaction, numbers and empty names in paths that an index or a join reads differently from a scan, metadata and orders of fields that depend on memory", CanaryTest: "compat-tests/consistency/differential TestCanaries",
	},
	{
		Name: "simulation", Promises: []int{1, 2, 3, 4, 6}, Unit: "seeds", Run: 100, Nightly: 50_000, Release: 1_000_000,
		What:   "Whole servers in virtual time, on a disk that forgets what was not synced, with connections in memory; one seed draws what clients do and what goes wrong. CRUD, transactions, of which some write between the batches of their cursors, change streams, documents that expire, splits, merges, reshardings, indexes and budgets that run out, while the power fails, the disk errs, connections break and the clock on the wall jumps by up to an hour. A model records the acknowledged and the refused writes; streams, indexes, counts and charges must agree with it",
		Note:   "The night runs the server as it is released, on all cores; each run has the self-checks of a test build",
		Tests:  []string{"compat-tests/consistency/simulation TestSeeds"},
		Canary: "seven: writes acknowledged before they are on the disk, retries that count twice, index entries too many and too few, a change that the log lacks, a cursor that sees later writes of its transaction, half a transaction", CanaryTest: "compat-tests/consistency/simulation TestCanary",
	},
	{
		Name: "fuzz", Promises: []int{6}, Unit: "targets", AtNight: true,
		What:   "Everything that reads what strangers send is fuzzed, each target for five minutes a night. The inputs that once found something, and those that a target begins with, are tests of each run",
		Note:   "An hour for each target would not end in a night, so each has five minutes",
		Tests:  []string{"scripts/testall fuzz"},
		Canary: "the length that a document states is not compared with the bytes there are", CanaryTest: "scripts/testall TestFuzzCanary",
	},
	{
		Name: "backup", Promises: []int{8}, Unit: "moments", Run: 10, Nightly: 200, Release: 2_000,
		What:   "Writers, DDL, splits, new shard keys and `kill -9` while backups are made; the folder is wrecked, and random moments are brought back, as whole servers and beside living ones: each is what the writers know was there",
		Tests:  []string{"compat-tests/faults/backup TestDrill"},
		Canary: "one write too much is made again", CanaryTest: "compat-tests/faults/backup TestCanary",
	},
	{
		Name: "upgrade", Promises: []int{7}, Unit: "upgrades", Run: 2, Nightly: 50, Release: 500,
		What:   "The folder that every released format has left is opened, compared, written to and opened again, also while clients are at work, who notice nothing but a pause; a newer one is refused with a sentence. Folders of programs from the history of this repository, at night of every fiftieth commit, are opened: documents and every kind of index answer as in a folder that is made anew, and `check` and `validate` find nothing",
		Tests:  []string{"compat-tests/faults/upgrade TestReleased", "compat-tests/faults/upgrade TestHistory", "compat-tests/faults/upgrade TestTraffic", "compat-tests/faults/upgrade TestNewer"},
		Canary: "three: validators in the catalog are overlooked, a newer format is taken for a known one, indexes of another version are taken for this one's", CanaryTest: "compat-tests/faults/upgrade TestCanary",
	},
	{
		Name: "hostile", Promises: []int{6}, Unit: "commands", Run: 60, Nightly: 0, Release: 0,
		What:   "Commands that cost as much as a client can make them cost, and clients that mean harm, while others work: every one ends within its maxTimeMS and with its client",
		Note:   "Which commands each run has beside those that are always there is drawn, so that all have their turn",
		Tests:  []string{"compat-tests/faults/abuse TestHostile"},
		Canary: "a command that never looks whether it is to end", CanaryTest: "compat-tests/faults/abuse TestHostileCanary",
	},
	{
		Name: "authorization", Promises: []int{9}, Unit: "requests", Run: 100_000, Nightly: 4_000_000, Release: 40_000_000,
		What:   "Users without a role, or with one narrow role each, send every command, stage and argument, mutated: fields that come twice, null first, other numbers, fractions, NaN, symbols, UUIDs, other order, nested, within explain, views, bulkWrite, transactions and document sequences. Everything beside what they may see is marked: a mark in a reply, a count, a password in the log or a change of anything else is a failure, shown as the smallest request that makes it",
		Tests:  []string{"compat-tests/behaviour/authfuzz TestGap"},
		Canary: "seven: the check reads another one of two fields than the command, or rounds, resolves or completes what it names otherwise", CanaryTest: "compat-tests/behaviour/authfuzz TestCanary",
	},
	{
		Name: "memory", Promises: []int{6}, Unit: "ways", Run: 0, Nightly: 0, Release: 0,
		What:   "Many clients make the server hold as much as they can, with `--work-memory` at its least: messages, sorts and groups, replies, open transactions, one application more than its share, one user more sessions than there are, or more users and definitions, also after a start; connections that do nothing; and many of these at once in a server that is given 256 MiB (GOMEMLIMIT); errors say what to do, others go on, and everything is given back",
		Tests:  []string{"compat-tests/faults/memory TestQueriesShareMemory", "compat-tests/faults/memory TestQueriesThatCannotSpillFail", "compat-tests/faults/memory TestHalfSentMessages", "compat-tests/faults/memory TestRepliesNobodyReads", "compat-tests/faults/memory TestUncommittedWritesShareMemory", "compat-tests/faults/memory TestApplicationsShareMemory", "compat-tests/faults/memory TestApplicationsShareUncommittedWrites", "compat-tests/faults/memory TestApplicationsTakeTurns", "compat-tests/faults/memory TestApplicationsShareTheInbox", "compat-tests/faults/memory TestIdleConnections", "compat-tests/faults/memory TestLittleMemory", "compat-tests/faults/memory TestUsersShareSessions", "compat-tests/faults/memory TestUsersAreBounded", "compat-tests/faults/memory TestDefinitionsAreBounded"},
		Canary: "everybody is given the memory they ask for, found in three of the ways", CanaryTest: "compat-tests/faults/memory TestCanary",
	},
	{
		Name: "gateway", Promises: []int{1, 3}, Unit: "kills", Run: 3, AtNight: true, Nightly: 100, Release: 1_000,
		What:   "Servers over a simulated TiKV cluster: one is killed under writers, another takes over, the cluster goes away or stands still, and comes back; three at a time while some are killed or sleep beyond their lease, the cluster errs, and collections are split, resharded, indexed and renamed",
		Tests:  []string{"compat-tests/servers/processes TestKill", "compat-tests/servers/processes TestAway", "compat-tests/servers/processes TestHangs", "compat-tests/servers/processes TestOneAtATime", "compat-tests/servers/processes TestChaos"},
		Canary: "one commit in a hundred is acknowledged and not made; a change of the catalog does not wait for the other servers", CanaryTest: "compat-tests/servers/processes TestCanary",
	},
}

// amount returns the number of a column, 0 for as much as there is.
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
