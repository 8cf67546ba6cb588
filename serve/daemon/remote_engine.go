package daemon

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cantledb/cantle/storage"
)

// Remote is a storage engine that keeps the database on other machines. A program adds its remote engines to
// Config.Remotes, so that the libraries of an engine are linked only into programs that use it.
type Remote struct {
	// Scheme is the prefix by which a value of --storage chooses this engine: scheme://place.
	Scheme string
	// Keeps describes in the help where the database is.
	Keeps string
	// Open is the engine's function that opens the store at a location, the value of --storage (scheme://place).
	// Errors: storage.ErrLocked, ErrFormat, ErrCorruption; other errors of the engine.
	Open func(location string, s RemoteSettings) (storage.Store, error)
	// Collectors returns the Prometheus metrics of the engine, in addition to the metrics of every store; nil = none.
	Collectors func() []prometheus.Collector
}

// RemoteSettings are the settings of a server that a remote engine receives when it opens the store.
type RemoteSettings struct {
	// TxnBytesMax bounds what one transaction writes, in bytes.
	TxnBytesMax int
	// TxnMemory is the memory budget from which all open transactions together take the bytes of their uncommitted
	// writes.
	TxnMemory storage.Memory
	// ReadOnly opens the store, even a damaged one, for reading only.
	ReadOnly bool
	// Log receives the engine's messages.
	Log func(isError bool, message string)
	// Fatal is called with the reason why the store cannot continue, just before the process ends.
	Fatal func(message string)
}

// engine returns the row of the table for the engine.
func (r Remote) engine() engine {
	open := func(where string, s storeSettings) (storage.Store, error) {
		return r.Open(where, RemoteSettings{TxnBytesMax: s.shares.txnBytes, TxnMemory: s.shares.writes, ReadOnly: s.readOnly, Log: s.log, Fatal: s.fatal})
	}
	return engine{r.Scheme, r.Keeps, atRemote, open, r.Collectors}
}
