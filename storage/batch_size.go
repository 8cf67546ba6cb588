package storage

// ChangeBytes is an estimate in bytes of the work to change one document with its index entries and its record in
// the change log. Long-running jobs count it for each document, so that other commands run in between.
const ChangeBytes = 8 << 10

// localRows is the maximum number of documents that a job commits together if a commit is no round trip to another
// process.
const localRows = 32

// CommitRows returns how many of a batch of documents a long-running job should commit together. In a store of
// this process alone, commits wait for each other, so at most 32. If the disk is full, each document is committed
// alone, because that needs the least space.
func CommitRows(s Store, batch int) int {
	switch {
	case !Exclusive(s): // a commit is a round trip
		return batch
	case s.DiskFull():
		return 1
	}
	return min(batch, localRows)
}
