package tikvkv

import (
	"cmp"
	"time"

	"github.com/cantledb/cantle/storage"
)

// Options are the settings of a store.
type Options struct {
	// Keyspace is the name of the store within the cluster: letters, digits, dots, dashes.
	Keyspace string

	// Self says to others who uses the store, such as host and process.
	Self string

	// Lease is how long the store belongs to this process after it was last heard of; 0 = 5 s.
	Lease time.Duration

	// Several opens the store for one of several processes that use it at the same time: it is
	// a storage.Shared. Without it this process has the store to itself.
	Several bool

	// Level is up to which level this process reads what lies in the keyspace; 0 = Level, all that this
	// program knows.
	Level uint32

	// Retention is how long states of the past are kept at least; 0 = 10 minutes. With
	// KeepGarbage another program moves the safe point, such as an SQL layer on the same cluster.
	Retention   time.Duration
	KeepGarbage bool

	// TxnBytesMax and ValueBytesMax bound one transaction and one key or value; 0 = 96 MiB,
	// which is also the most, and 64 MiB.
	TxnBytesMax, ValueBytesMax int

	// TxnMemory, if not nil, is what the writes of all open transactions share.
	TxnMemory storage.Memory

	// AsyncCommit and OnePhase let transactions commit in fewer steps. They are off: no
	// cluster has been seen to pass the tests with them yet.
	AsyncCommit, OnePhase bool

	// Clock measures how long the cluster has not answered, how long it takes, and for how
	// long this process may be sure of its lease; nil does not, and the oracle is asked before
	// each read. It is never compared with another machine's.
	Clock func() time.Time

	// Log receives what the client and the engine have to say; nil drops it.
	Log func(isError bool, message string)

	// Fatal is called when the store cannot go on: another process has taken it over.
	Fatal func(message string)
}

const (
	txnBytesMax   = 96 << 20
	valueBytesMax = 64 << 20
)

// defaults returns o with zero fields filled in.
func (o Options) defaults() Options {
	o.Self = cmp.Or(o.Self, "another server")
	o.Lease = cmp.Or(o.Lease, 5*time.Second)
	o.Level = cmp.Or(o.Level, Level)
	o.Retention = cmp.Or(o.Retention, 10*time.Minute)
	o.TxnBytesMax = min(cmp.Or(o.TxnBytesMax, txnBytesMax), txnBytesMax)
	o.ValueBytesMax = cmp.Or(o.ValueBytesMax, valueBytesMax)
	if o.Clock == nil {
		o.Clock = func() time.Time { return time.Unix(0, 0) }
	}
	if o.Log == nil {
		o.Log = func(bool, string) {}
	}
	if o.Fatal == nil {
		o.Fatal = func(string) {}
	}
	return o
}
