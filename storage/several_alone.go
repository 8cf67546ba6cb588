//go:build alone

package storage

// Several is false in programs that have no engine which can be shared.
const Several = false
