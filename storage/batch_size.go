package storage

// ChangeBytes is an estimate in bytes of the work to change one document with its index entries and its record in
// the change log. Work on many documents counts it for each, so that other commands run in between.
const ChangeBytes = 8 << 10

// localRows is the maximum number of documents that a job commits together if a commit is no round trip to another
// process.
const localRows = 32

// CommitRows returns the number of documents of a batch to commit together: all of them in a shared store, and at
// most 32 in an exclusive one, where commits wait for each other. If the disk of an exclusive store is full, it
// returns 1, which needs the least space.
func CommitRows(s Store, batch int) int {
	switch {
	case !Exclusive(s): // a commit is a round trip
		return batch
	case s.DiskFull():
		return 1
	}
	return min(batch, localRows)
}
