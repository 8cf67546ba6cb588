package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/storage"
)

// Remote is a storage engine that keeps the database elsewhere. A program adds those that it
// has to Config.Remotes: the libraries of an engine are linked into programs that name it, and
// into no others.
type Remote struct {
	// Scheme begins the locations of the engine as values of --storage: scheme://place.
	Scheme string
	// Keeps says for the help where the database is.
	Keeps string
	// Open opens the store at a location.
	// Errors: storage.ErrLocked, ErrFormat, ErrCorruption; those of the engine.
	Open func(location string, s RemoteSettings) (storage.Store, error)
	// Collectors are metrics of the engine beside those of every store; nil = none.
	Collectors func() []prometheus.Collector
}

// RemoteSettings are the settings of a server that concern an engine elsewhere.
type RemoteSettings struct {
	// TxnBytesMax bounds what one transaction writes, in bytes.
	TxnBytesMax int
	// TxnMemory is shared by the writes of all open transactions.
	TxnMemory storage.Memory
	// ReadOnly opens a store, be it damaged, for reading only.
	ReadOnly bool
	// Log takes messages of the engine.
	Log func(isError bool, message string)
	// Fatal takes the reason why the store cannot go on, before the process ends.
	Fatal func(message string)
}

// engine is the engine as a row of the table.
func (r Remote) engine() engine {
	open := func(where string, s storeSettings) (storage.Store, error) {
		return r.Open(where, RemoteSettings{TxnBytesMax: s.shares.txnBytes, TxnMemory: s.shares.writes, ReadOnly: s.readOnly, Log: s.log, Fatal: s.fatal})
	}
	return engine{r.Scheme, r.Keeps, atRemote, open, r.Collectors}
}
