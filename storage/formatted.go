package storage

import "context"

// Formatted is a Store of one process that stores a format version: a program that can read only earlier
// versions refuses to open it. Servers that share a store agree on a format version themselves.
type Formatted interface {
	// RaiseFormat raises the stored format version durably, so that programs of earlier versions refuse the
	// store from now on. If the store has that version or a later one, nothing changes. Calls must not be
	// concurrent. Errors: as Txn.Commit.
	RaiseFormat(ctx context.Context, version int) error
}

// Format versions, each with what earlier programs would misread. A store has the version of the newest thing
// in it.
const (
	FormatFirst   = 1
	FormatIndexes = 2 // indexes whose entries have a later version than the first
)
