package pebblekv

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// Replay applies writes, in their order, to a copy of the files of a store that no process has open: the last step
// of a restore from a backup. The writes may begin before the state of the copy, but must not end before it.
// Afterwards the copy is in the state of a store killed right after the last replayed write. With documentsOnly,
// index entries and change-log records are left out: the documents and the catalog can be read without them. The
// function writes calls again for each batch. After an error the copy is unusable.
func Replay(dir string, documentsOnly bool, writes func(again func(batch []byte) error) error) error {
	s, err := openRestored(dir)
	if err != nil {
		return err
	}
	return s.closeRestored(writes(func(batch []byte) error {
		b := s.db.NewBatch()
		defer func() { _ = b.Close() }()
		if err := copyBatch(b, batch, documentsOnly); err != nil || b.Empty() {
			return err
		}
		return translate(s.db.Apply(b, pebble.NoSync))
	}))
}

// openRestored opens a copy of the files of a store that no process has open.
func openRestored(dir string) (*store, error) {
	s := &store{o: Options{ReserveBytes: -1, MemtableBytes: 32 << 20, CacheBytes: 16 << 20}.defaults(), dir: dir}
	if err := s.openForReplay(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	return s, nil
}

// closeRestored writes everything to tables, unless err is the error of an earlier write, and closes the files.
func (s *store) closeRestored(err error) error {
	if err == nil {
		err = translate(s.db.Flush())
	}
	return errors.Join(err, translate(s.db.Close()), s.lock.Close())
}

// openForReplay opens the copied files without a write-ahead log. No log is needed, because after a failure the
// replay starts again from a new copy.
func (s *store) openForReplay() (err error) {
	folder, err := filescan.Open(s.dir)
	if err != nil {
		return err
	}
	if len(folder.Damages) > 0 {
		return &storage.DamagedError{Damages: folder.Damages}
	}
	if s.lock, err = lockFolder(s.dir, s.o.FS); err != nil {
		return err
	}
	t := &failureHandler{log: logger{s.o}}
	po := s.o.pebble(func() {}, t)
	defer po.Cache.Unref()
	po.Lock, po.DisableWAL = s.lock, true
	po.FS = checkedFiles{po.FS, &s.damaged}
	if s.db, err = pebble.Open(s.dir, po); err != nil {
		_ = s.lock.Close()
		return translate(err)
	}
	return nil
}

// copyBatch adds the operations of a batch from the write-ahead log to the new batch to. With documentsOnly it omits
// index entries and change-log records. Errors: those of eachOperation and addOperation.
func copyBatch(to *pebble.Batch, batch []byte, documentsOnly bool) error {
	return eachOperation(batch, func(kind pebble.InternalKeyKind, key, value []byte) error {
		if documentsOnly && kind != pebble.InternalKeyKindRangeDelete && !ofDocuments(key) {
			return nil
		}
		return addOperation(to, kind, key, value)
	})
}

// eachOperation calls visit for each operation of a batch from the write-ahead log. Errors: ErrCorruption for a batch that
// cannot be decoded; errors of visit.
func eachOperation(batch []byte, visit func(kind pebble.InternalKeyKind, key, value []byte) error) error {
	for r := batchrepr.Read(batch); ; {
		kind, key, value, ok, err := r.Next()
		if err == nil && ok {
			err = visit(kind, key, value)
		}
		if err != nil || !ok {
			return translate(err)
		}
	}
}

// addOperation adds an operation to a batch. Errors: ErrFormat for one of an unknown kind.
func addOperation(to *pebble.Batch, kind pebble.InternalKeyKind, key, value []byte) error {
	switch kind {
	case pebble.InternalKeyKindSet:
		return to.Set(key, value, nil)
	case pebble.InternalKeyKindDelete:
		return to.Delete(key, nil)
	case pebble.InternalKeyKindRangeDelete:
		return to.DeleteRange(key, value, nil)
	case pebble.InternalKeyKindLogData:
		return nil
	}
	return fmt.Errorf("%w: a write of an unknown kind %d", storage.ErrFormat, kind)
}

// ofDocuments reports whether a key is needed to read documents: it is neither an index entry, except of the insertion
// order, nor a change-log record.
func ofDocuments(key []byte) bool {
	switch {
	case len(key) < 2:
		return true
	case key[0] == 'i':
		return keyspace.OfInsertionOrder(key)
	}
	return key[0] != 0 || key[1] != 'l'
}
