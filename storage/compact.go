package storage

import "context"

// Compactor is a Store whose files keep what was deleted or written over until the place where it
// lies is written anew. It does so by itself where that pays; asked for, it does so at once.
type Compactor interface {
	// Reclaimable estimates how many bytes of the files Compact of a range would free. live is how
	// many bytes the keys and values take that can still be read, -1 if that is unknown: then only
	// what was deleted is seen, and not what was written over.
	Reclaimable(ctx context.Context, r Range, live int64) (uint64, error)

	// Compact writes anew what of a range holds anything that nobody can read any more, in pieces.
	// What is open may still read some of it, which stays. told hears of each piece, and may wait before
	// the next one; when ctx ends, what was done by then is done.
	// freed is by how much the files of the range became smaller.
	// Errors: context.Cause(ctx), ErrNotWritable, ErrClosed.
	Compact(ctx context.Context, r Range, told func(bytes int64)) (freed int64, err error)

	// RangeBytes is how many bytes of the files are of a range, without what is in memory still.
	RangeBytes(ctx context.Context, r Range) (uint64, error)
}
