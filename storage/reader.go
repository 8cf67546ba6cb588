package storage

import "context"

// Reader reads one snapshot of a store. Its methods may be called concurrently, except Close. The Reader methods
// of a Txn also see the transaction's own writes.
type Reader interface {
	// Get appends the value of key to dst and returns the extended slice. Errors: ErrNotFound; then dst is
	// returned unchanged.
	Get(ctx context.Context, key, dst []byte) ([]byte, error)

	// Has reports whether key exists. For a key that is usually absent, Has is several times cheaper than Get: use
	// it for duplicate checks.
	Has(ctx context.Context, key []byte) (bool, error)

	// GetMany reads many keys at once: it calls emit once per key, in the order of keys, with the key's index and
	// value, nil if the key is absent. The value is valid until emit returns. An error of emit ends the call and
	// is returned.
	GetMany(ctx context.Context, keys [][]byte, emit func(i int, value []byte) error) error

	// Iter opens an iterator over a range of keys, positioned before the first entry. The caller may reuse the
	// memory of r afterwards.
	Iter(ctx context.Context, r Range, o IterOptions) (Iterator, error)

	// ReadTimestamp returns the timestamp of the snapshot, which contains exactly the commits up to this
	// timestamp.
	ReadTimestamp() Timestamp

	// Close releases the snapshot. The iterators of the reader must be closed before. A second Close does nothing.
	Close()
}

// Fetcher is a Reader or a Txn in which each read may be a round trip to another process, so that reading many keys
// ahead saves time.
type Fetcher interface {
	// Prefetch fetches the values of keys that the caller is about to read one by one, in few round trips, and
	// keeps a limited number of them. It is a hint and changes no result. In a Txn with claim, the keys are also
	// claimed, and the next Claim of each key needs no round trip. Errors: as of reads and of Claim.
	Prefetch(ctx context.Context, keys [][]byte, claim bool) error
}

// IterOptions are the options of an iterator: its direction, and hints for an engine that reads over a network.
type IterOptions struct {
	Reverse   bool // from the end of the range to its start
	KeysOnly  bool // the caller never calls Value, so values need not be fetched
	FetchRows int  // number of entries that the caller expects to read; a hint, 0 = unknown
}

// Iterator steps through the entries of a range in key order, or in reverse. Only one goroutine may use it. Loop:
// for it.Next() { … }; then Err, then Close.
type Iterator interface {
	// Next steps to the next entry, at first to the first one. It returns false at the end or on an error.
	Next() bool

	// Seek moves forward to the first entry at or beyond key in the direction of the iterator (reverse: the
	// greatest key <= key). If the current entry is already at or beyond key, the iterator stays. Seek may cost a
	// round trip.
	Seek(key []byte) bool

	// Key returns the key of the current entry, valid until the next Next, Seek or Close.
	Key() []byte

	// Value returns the value of the current entry, valid until the next Next, Seek or Close. After a read error
	// it is nil, and Err returns the error.
	Value() []byte

	// Err returns the first error.
	Err() error

	// Close releases the iterator; closing twice does nothing.
	Close()
}

// RangeSetter is an Iterator that can be moved to another range, which costs less than to open another iterator.
type RangeSetter interface {
	Iterator
	// SetRange moves the iterator before the first entry of another range, of the same snapshot and in the same
	// direction. The caller may reuse the memory of r afterwards. An iterator that has failed must not be moved.
	SetRange(r Range)
}

// ContextSetter is an Iterator that may wait for another process, as long as a context lasts: at first the context
// of Iter, later the one of SetContext. A client's cursor outlives the command that opened it, and that command's
// time limit; each getMore sets its own context.
type ContextSetter interface{ SetContext(ctx context.Context) }
