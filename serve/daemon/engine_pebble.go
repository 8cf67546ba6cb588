package daemon

import (
	"cmp"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// openPebble opens a store of files.
func openPebble(dir string, s storeSettings) (storage.Store, error) {
	o := pebbleOptions(s)
	o.CacheBytes, o.ReadOnly, o.DiskFull, o.KeptBytes = cmp.Or(s.cache, s.shares.cache), s.readOnly, s.noSpace, s.kept
	o.Follow, o.EndFollow = s.follow, s.endFollow
	o.Watchdog = s.watchdog
	if s.files != nil {
		s.files(&o)
	}
	return pebblekv.Open(dir, o)
}

// openMemory opens a store without files. Unless --cache-size is given, its cache is
// small, since all its data is in memory anyway.
func openMemory(_ string, s storeSettings) (storage.Store, error) {
	o := pebbleOptions(s)
	o.InMemory = true
	return pebblekv.Open("", o)
}

// pebbleOptions returns the options that a store in files and a store in memory have in common.
func pebbleOptions(s storeSettings) pebblekv.Options {
	return pebblekv.Options{
		CacheBytes: s.cache, MemtableBytes: s.shares.memtable,
		TxnBytesMax: s.shares.txnBytes, TxnMemory: s.shares.writes,
		SyncInterval: s.sync, Clock: s.clock, Log: s.log, Warn: s.warn, Fatal: s.fatal, Damaged: s.damaged,
	}
}
