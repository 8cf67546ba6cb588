package storage

import "context"

// Divider is a Store that can divide a range of keys without reading it.
type Divider interface {
	// Divide divides a range into consecutive parts, each with an upper bound of its keys in every snapshot that is open
	// at the time of the call. It reads no entries. The bound includes keys that are deleted or overwritten. The part
	// of it that stands for keys written since the last flush is statistical: it is too low with a probability of less
	// than one in a million for each part. It returns nil if the store cannot bound the keys now. Errors: ErrClosed, ctx.Err(),
	// read errors.
	Divide(ctx context.Context, r Range) ([]Part, error)
}

// Part is a part of a divided range, with an upper bound of its keys.
type Part struct {
	Range
	Keys uint64
}
