package daemon

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/storage/keyspace"
)

// rollbackName is the folder with the rollback files in the folder of --data. As in MongoDB it has a folder for each
// collection, named by its UUID, with files of BSON documents.
// Manual: core/replica-set-rollbacks.
const rollbackName = "rollback"

// rollbackSeenMax is the number of changed documents up to which each is written only once.
const rollbackSeenMax = 4 << 20

// rolledBack counts what a new primary does not have.
type rolledBack struct {
	documents int64 // written into rollback files
	deletes   int64 // documents that were deleted; the new primary still has them, or never had them
	commands  int64 // changes of collections and indexes
	from      storage.Timestamp
	truncated bool // the change log begins later
}

func (r *rolledBack) text(folder string) string {
	switch {
	case r.truncated:
		return fmt.Sprintf("Later writes of this server are not on that one; the change log does not reach back to all of them, so the folder %s is the only place that has them: keep it", filepath.Dir(folder))
	case *r == rolledBack{}:
		return "This server acknowledged no later writes"
	}
	return fmt.Sprintf("Later writes of this server are not on that one: the %d documents that they inserted or changed are in %s, %d were deleted, and %d changes of collections were made", r.documents, folder, r.deletes, r.commands)
}

// rollBackStopped writes the rollback files of a server that is not running, unless that was done, and returns a sentence
// about them.
func (d *Daemon) rollBackStopped(ctx context.Context, s *backup.Standing) (string, error) {
	folder := filepath.Join(d.cfg.Data, rollbackName)
	if s.RolledBack {
		if _, err := os.Stat(folder); err != nil {
			return "This server acknowledged no later writes", nil
		}
		return "What its later writes inserted or changed is in " + folder, nil
	}
	e, err := d.cfg.engine()
	if err != nil {
		return "", err
	}
	store, err := e.open(d.cfg.storeFolder(), storeSettings{shares: &d.shares, log: d.logStore, warn: d.warnStore, fatal: func(message string) { d.logStore(true, message) },
		damaged: d.logDamage, readOnly: true, files: d.cfg.Files, clock: d.cfg.clock()})
	if err != nil {
		return "", cannotOpen(d.cfg.Data, err)
	}
	defer store.Close()
	cat, err := catalog.Open(ctx, store, d.release)
	if err != nil {
		return "", err
	}
	return d.rollBack(ctx, store, cat, s)
}

// rollBack writes the newest version of each document that this server has inserted or changed since the time up to which the
// new primary has its writes, and records that. It returns a sentence about the files.
func (d *Daemon) rollBack(ctx context.Context, store storage.Store, cat *catalog.Catalog, s *backup.Standing) (string, error) {
	w := &rollbackWriter{ctx: ctx, folder: filepath.Join(d.cfg.Data, rollbackName), term: s.Term, snap: cat.Peek(), seen: map[uint64]struct{}{}, seed: maphash.MakeSeed()}
	if err := w.run(store); err != nil {
		return "", fmt.Errorf("writing the rollback files: %w", err)
	}
	text := w.done.text(w.folder)
	d.log.Warn().Str("folder", w.folder).Int64("documents", w.done.documents).Int64("deletes", w.done.deletes).Int64("commands", w.done.commands).Msg(text)
	s.RolledBack = true
	return text, s.Save(d.cfg.Data)
}

// rollbackWriter writes rollback files.
type rollbackWriter struct {
	ctx    context.Context
	folder string
	term   backup.Term
	snap   *catalog.Snapshot
	reader storage.Reader
	seen   map[uint64]struct{} // hashes of the keys of written documents
	seed   maphash.Seed
	begun  map[keyspace.CollectionID]bool // whose file was made by this run
	done   rolledBack

	of  keyspace.CollectionID // whose file is open
	at  *os.File
	out *bufio.Writer
}

func (w *rollbackWriter) run(store storage.Store) (err error) {
	if w.reader, err = store.Snapshot(w.ctx, 0); err != nil {
		return err
	}
	defer w.reader.Close()
	w.begun = map[keyspace.CollectionID]bool{}
	var failed error
	read := func(after storage.Timestamp) error {
		_, err := store.ReadLog(w.ctx, changelog.Stream, after, func(ts, _ storage.Timestamp, rec []byte) bool {
			failed = w.add(ts, rec)
			return failed == nil
		})
		return err
	}
	err = read(w.term.Time)
	if errors.Is(err, storage.ErrLogTruncated) {
		w.done.truncated = true
		err = read(0)
	}
	return errors.Join(err, failed, w.closeFile())
}

// add writes the document that a record of the change log has changed, unless it was written before.
func (w *rollbackWriter) add(ts storage.Timestamp, record []byte) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	rec, err := changelog.Decode(record)
	if err != nil {
		return err
	}
	if w.done.from == 0 {
		w.done.from = ts
	}
	switch rec.Op {
	case changelog.Command:
		w.done.commands++
		return nil
	case changelog.Moved:
		return nil
	}
	coll := w.snap.ByID(rec.Collection)
	if coll == nil { // it was dropped, which a Command has
		return nil
	}
	key := keyspace.AppendRecord(nil, coll.ID, rec.Position, rec.ID)
	sum := maphash.Bytes(w.seed, key)
	if _, there := w.seen[sum]; there {
		return nil
	}
	if len(w.seen) == rollbackSeenMax {
		clear(w.seen)
	}
	w.seen[sum] = struct{}{}
	doc, err := w.reader.Get(w.ctx, key, nil)
	if errors.Is(err, storage.ErrNotFound) {
		w.done.deletes++
		return nil
	}
	if err == nil {
		err = w.openFile(coll)
	}
	if err == nil {
		w.done.documents++
		_, err = w.out.Write(bson.Raw(doc))
	}
	return err
}

// openFile opens the file of a collection, and ends that of another one. A file of an interrupted run is replaced.
func (w *rollbackWriter) openFile(coll *catalog.Collection) error {
	if w.at != nil && w.of == coll.ID {
		return nil
	}
	if err := w.closeFile(); err != nil {
		return err
	}
	id := hex.EncodeToString(coll.UUID[:])
	dir := filepath.Join(w.folder, id[:8]+"-"+id[8:12]+"-"+id[12:16]+"-"+id[16:20]+"-"+id[20:])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if !w.begun[coll.ID] {
		flags |= os.O_TRUNC
	}
	at, err := os.OpenFile(filepath.Join(dir, "removed."+w.term.Begun.Format("2006-01-02T15-04-05")+".0.bson"), flags, 0o600)
	if err != nil {
		return err
	}
	if !w.begun[coll.ID] {
		w.begun[coll.ID] = true
		name := filepath.Join(dir, "namespace")
		if err := os.WriteFile(name, []byte(coll.Namespace.String()+"\n"), 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
			return errors.Join(err, at.Close())
		}
	}
	w.of, w.at, w.out = coll.ID, at, bufio.NewWriterSize(at, 64<<10)
	return nil
}

// closeFile makes the open file durable and ends it.
func (w *rollbackWriter) closeFile() error {
	if w.at == nil {
		return nil
	}
	err := errors.Join(w.out.Flush(), w.at.Sync(), w.at.Close())
	w.at = nil
	return err
}
