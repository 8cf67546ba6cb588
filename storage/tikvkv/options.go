package tikvkv

import (
	"cmp"
	"time"

	"github.com/cantledb/cantle/storage"
)

// Options are the settings of a store.
type Options struct {
	// Keyspace is the name of the store within the cluster: 1 to 64 letters, digits, dots, dashes, underscores.
	Keyspace string

	// ServerName is the name of this server for other servers and operators, such as host and process.
	ServerName string

	// Lease is the length of a lease after each renewal; 0 = 5 s.
	Lease time.Duration

	// Several opens the store as a member of several servers that use it at the same time: it is a
	// storage.Shared. Without Several this process has the store exclusively.
	Several bool

	// FormatVersion is the newest level that this process reads in the keyspace; 0 = the constant
	// FormatVersion, the newest level of this program.
	FormatVersion uint32

	// Retention is the minimum time for which past states are kept; 0 = 10 minutes. If KeepGarbage is
	// set, another program moves the safe point, such as an SQL layer on the same cluster.
	Retention   time.Duration
	KeepGarbage bool

	// TxnBytesMax bounds the writes of one transaction, in bytes; 0 = 96 MiB, which is also the maximum.
	// ValueBytesMax bounds one value, in bytes; 0 = 64 MiB.
	TxnBytesMax, ValueBytesMax int

	// TxnMemory, if not nil, is the memory budget that the writes of all open transactions share.
	TxnMemory storage.Memory

	// AsyncCommit and OnePhase let transactions commit in fewer round trips. They are off: no cluster
	// has passed the tests with them yet.
	AsyncCommit, OnePhase bool

	// Clock measures how long the cluster has not answered, how long the oracle takes, and how much of the lease is
	// left. If it is nil, nothing is measured, and each read of the newest state fetches a timestamp from the oracle.
	// It is never compared with the clock of another machine.
	Clock func() time.Time

	// Log receives messages of the client and the engine; nil drops them.
	Log func(isError bool, message string)

	// Fatal is called when the store cannot continue: another process has taken it over, or has raised its level
	// above FormatVersion.
	Fatal func(message string)
}

const (
	txnBytesMax   = 96 << 20
	valueBytesMax = 64 << 20
)

// defaults returns o with zero fields filled in.
func (o Options) defaults() Options {
	o.ServerName = cmp.Or(o.ServerName, "another server")
	o.Lease = cmp.Or(o.Lease, 5*time.Second)
	o.FormatVersion = cmp.Or(o.FormatVersion, FormatVersion)
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
