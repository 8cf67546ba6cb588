package salvage

import (
	"context"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// catalogKinds are the kinds of keys from which the catalog is read.
var catalogKinds = []keyspace.MetaKind{keyspace.MetaDatabase, keyspace.MetaCollection}

// Catalog reads the catalog from what is left of a store's files. An entry that cannot be decoded is left out.
// Errors: the errors of ctx.
func Catalog(ctx context.Context, f *filescan.Folder) (*catalog.Snapshot, error) {
	snap, err := readCatalog(ctx, f, nil)
	if err == nil {
		return snap, nil
	}
	// At least one catalog entry cannot be decoded: test them one by one, to leave out only these.
	bad := map[string]bool{}
	for _, kind := range catalogKinds {
		err := f.Scan(ctx, keyspace.MetaRange(kind), func(e filescan.Entry) error {
			one := string(e.Key)
			if _, err := readCatalog(ctx, f, func(key string) bool { return key == one }); err != nil {
				bad[one] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return readCatalog(ctx, f, func(key string) bool { return !bad[key] })
}

// readCatalog reads the entries with the selected keys; nil selects all.
func readCatalog(ctx context.Context, f *filescan.Folder, wanted func(key string) bool) (*catalog.Snapshot, error) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	txn, err := store.Begin(ctx, storage.TxnOptions{})
	if err != nil {
		return nil, err
	}
	defer txn.Close()
	for _, kind := range catalogKinds {
		err := f.Scan(ctx, keyspace.MetaRange(kind), func(e filescan.Entry) error {
			if wanted != nil && !wanted(string(e.Key)) {
				return nil
			}
			return txn.Set(e.Key, e.Value)
		})
		if err != nil {
			return nil, err
		}
	}
	if _, err := txn.Commit(ctx, storage.Buffered); err != nil {
		return nil, err
	}
	cat, err := catalog.Open(ctx, store, release.Default)
	if err != nil {
		return nil, err
	}
	return cat.Peek(), nil
}
