package storage

// ChangeBytes is the work of changing a document with its index entries and its record in the change log. Long work
// counts it for each document, so that the commands of others run between two of them.
const ChangeBytes = 8 << 10

// localRows commit together where a commit is no round trip to another process.
const localRows = 32

// CommitRows returns how many of a batch of documents commit together in long work. In a store of this process commits wait
// for each other, so there it is fewer. On a full disk each commits alone, as it needs the least room.
func CommitRows(s Store, batch int) int {
	switch {
	case AsShared(s) != nil:
		return batch
	case s.DiskFull():
		return 1
	}
	return min(batch, localRows)
}
