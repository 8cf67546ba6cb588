//go:build !alone

package storage

// Several says that this program can be one of several over a store. The tag alone leaves that
// out, for programs that have no engine which can be shared.
const Several = true
