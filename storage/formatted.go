package storage

import "context"

// Formatted is a Store that stores a format version, which prevents older programs from misreading it: a program
// that can read only earlier versions refuses to open it. Only stores of one process implement it; servers that
// share a store agree on a format version themselves.
type Formatted interface {
	// RaiseFormat raises the stored format version durably, so that older programs refuse the store from now on.
	// If the store has that version or a later one, nothing changes. Calls must not be concurrent. Errors: as
	// Txn.Commit.
	RaiseFormat(ctx context.Context, version int) error
}

// Format versions of a store, each with the feature that earlier programs would misread. A store has the version
// of the newest feature in it.
const (
	FormatFirst   = 1
	FormatIndexes = 2 // indexes whose entries are encoded in a later way than the first
)
