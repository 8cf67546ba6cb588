package storage

import "context"

// Reader is one snapshot. Its methods may be called concurrently, except Close. The Reader methods
// of a Txn also see the transaction's own writes.
type Reader interface {
	// Get appends the value of key to dst and returns the extended slice. Errors: ErrNotFound (dst
	// is returned unchanged).
	Get(ctx context.Context, key, dst []byte) ([]byte, error)

	// Has reports whether key exists. For a key that is usually absent it is
	// several times cheaper than Get: use it for duplicate checks.
	Has(ctx context.Context, key []byte) (bool, error)

	// GetMany calls emit once per key, in the order of keys, with the value, or
	// nil if the key is absent. value is valid until emit returns. An error of
	// emit ends the call and is returned.
	GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error

	// Iter opens an iterator over a range, positioned before the first entry.
	// r may be reused by the caller afterwards.
	Iter(ctx context.Context, r Range, o IterOptions) (Iterator, error)

	// ReadTimestamp returns the timestamp of the snapshot: it contains exactly the commits up to
	// this timestamp.
	ReadTimestamp() Timestamp

	// Close releases the snapshot. Its iterators must be closed before. Closing
	// twice does nothing.
	Close()
}

// Fetcher is a Reader or a Txn in which each read is a round trip.
type Fetcher interface {
	// Prefetch fetches keys that are about to be read one by one in few round trips, and keeps a
	// limited number of results. It is a hint and changes no result. In a Txn with claim, the keys
	// are also claimed, and the next Claim of each key needs no round trip. Errors: as of reads and
	// of Claim.
	Prefetch(ctx context.Context, keys [][]byte, claim bool) error
}

// IterOptions shapes an iterator.
type IterOptions struct {
	Reverse   bool // from the end of the range to its start
	KeysOnly  bool // Value is not called
	FetchRows int  // how many rows the caller expects to take; a hint, 0 = unknown
}

// Iterator walks the entries of a range in key order, or in reverse. It belongs
// to one goroutine. Loop: for it.Next() { … }; then Err, then Close.
type Iterator interface {
	// Next steps to the first or the next entry; false at the end or on an error.
	Next() bool

	// Seek moves onward to the first entry at or beyond key in the direction of
	// the iterator (reverse: the greatest key <= key). If the current entry is
	// already there it stays. It may cost a round trip.
	Seek(key []byte) bool

	// Key is valid until the next Next, Seek or Close.
	Key() []byte

	// Value is valid until the next Next, Seek or Close. After a read error it is nil, and Err
	// returns the error.
	Value() []byte

	// Err returns the first error.
	Err() error

	// Close releases the iterator; closing twice does nothing.
	Close()
}

// ContextSetter is an Iterator that may wait for another process, as long as a context lasts: the context
// of Iter, until SetContext sets another one. A cursor outlives the command that opened it and that
// command's time limit; each getMore uses its own context.
type ContextSetter interface{ SetContext(ctx context.Context) }
