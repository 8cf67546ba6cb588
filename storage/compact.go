package storage

import "context"

// Compactor is a Store whose files keep deleted and overwritten data until they are rewritten. The store compacts
// its files in the background where that pays; Compact does it at once.
type Compactor interface {
	// Reclaimable estimates by how many bytes a Compact of the range would shrink the files. live is the total
	// size of the keys and values in the range that can still be read, -1 if unknown: then only deleted data are
	// counted, and not overwritten data.
	Reclaimable(ctx context.Context, r Range, live int64) (uint64, error)

	// Compact frees the disk space of data that cannot be read any more: it compacts a range piece by piece. Data
	// that open snapshots can read stay. progress is called after each piece with its size in bytes, and may block to
	// slow Compact down. If ctx ends, the finished pieces stay compacted. freed is the number of bytes by which
	// the files of the range became smaller. Errors: context.Cause(ctx), ErrDiskFull, ErrNotWritable, ErrClosed.
	Compact(ctx context.Context, r Range, progress func(bytes int64)) (freed int64, err error)

	// RangeBytes returns the number of bytes that a range of keys takes in the files, without data that are not
	// flushed yet.
	RangeBytes(ctx context.Context, r Range) (uint64, error)
}
