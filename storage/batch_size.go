package storage

// ChangeBytes is the work of changing a document with its index entries and its record in the change log, in
// bytes. Long-running jobs count it for each document, so that other commands run in between.
const ChangeBytes = 8 << 10

// localRows is the number of documents per commit if a commit is no round trip to another process.
const localRows = 32

// CommitRows returns how many documents of a batch a long-running job should commit together. In a local
// store commits wait for each other, so there it is fewer. If the disk is full, each document is committed
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
