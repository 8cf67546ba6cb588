package storage

import "context"

// Formatted is a Store of one process that keeps the version of the format of what is in it: programs that know only
// earlier ones refuse to open it. Where several processes share a store, they agree on a level themselves.
type Formatted interface {
	// RaiseFormat lets programs before a version of the format refuse the store from now on, durably; a store that has
	// it already stays as it is. Calls come one after another. Errors: as Txn.Commit.
	RaiseFormat(ctx context.Context, version int) error
}

// Versions of the format, each with what programs before would misread. A store has that of the newest thing that is in it.
const (
	FormatFirst   = 1
	FormatIndexes = 2 // indexes whose entries are of a later version than the first
)
