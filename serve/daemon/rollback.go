package daemon

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"os"
	"path/filepath"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/pebblekv"
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
	deletes   int64 // documents that were deleted, or whose collection was; the new primary still has them, or never had them
	commands  int64 // changes of collections and indexes
	settings  int   // users, roles and settings that were changed
	unsure    bool  // settings is not known: the write-ahead log of that time is gone
	truncated bool  // the change log begins later
}

func (r *rolledBack) text(folder string) string {
	switch {
	case r.truncated:
		return fmt.Sprintf("Later writes of this server are not on that one; the change log does not reach back to all of them, so the folder %s is the only place that has them: keep it", filepath.Dir(folder))
	case *r == rolledBack{}:
		return "This server acknowledged no later writes"
	}
	text := "Later writes of this server are not on that one: "
	if r.documents == 0 {
		text += "they inserted or changed no documents"
	} else {
		text += fmt.Sprintf("the %d documents that they inserted or changed are in %s", r.documents, folder)
	}
	text += fmt.Sprintf(", %d were deleted, and %d changes of collections were made", r.deletes, r.commands)
	switch {
	case r.unsure:
		text += ". Whether users, roles or settings were changed is not certain, because the log of that time is gone"
	case r.settings > 0:
		text += fmt.Sprintf(". %d users, roles or settings were changed, which are in no file", r.settings)
	}
	return text
}

// rollBackStopped writes the rollback files of a server that is not running, unless that was done, and returns a sentence
// about them.
func (d *Daemon) rollBackStopped(ctx context.Context, s *backup.Standing) (string, error) {
	folder := filepath.Join(d.cfg.Data, rollbackName)
	if s.RolledBack {
		if _, err := os.Stat(folder); err != nil {
			return "Its later writes, if there were any, inserted or changed no documents; its log has the number of deletes and other changes", nil
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
	return d.rollBack(ctx, store, store.(backup.Source), cat, s)
}

// rollBack writes the newest version of each document that this server has inserted or changed since the time up to which the
// new primary has its writes, and records that. It returns a sentence about the files.
func (d *Daemon) rollBack(ctx context.Context, store storage.Store, files backup.Source, cat *catalog.Catalog, s *backup.Standing) (string, error) {
	w := &rollbackWriter{ctx: ctx, folder: filepath.Join(d.cfg.Data, rollbackName), term: s.Term, snap: cat.Peek(), seed: maphash.MakeSeed()}
	if err := w.run(store); err != nil {
		return "", fmt.Errorf("writing the rollback files: %w", err)
	}
	if err := w.countSettings(files); err != nil {
		return "", fmt.Errorf("reading the log of writes: %w", err)
	}
	text := w.done.text(w.folder)
	d.log.Warn().Str("folder", w.folder).Int64("documents", w.done.documents).Int64("deletes", w.done.deletes).Int64("commands", w.done.commands).Int("settings", w.done.settings).Msg(text)
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
	seed   maphash.Seed
	begun  map[keyspace.CollectionID]bool // whose file was made by this run
	done   rolledBack

	// next maps the number of a collection that was rewritten (reshardCollection and others) to its next number.
	next map[keyspace.CollectionID]keyspace.CollectionID
	// rewritten holds the numbers of the collections at the ends of next, with the hashes of the _ids of changed documents. A scan
	// after the change log was read finds these documents: old records lack their shard keys, and so their positions.
	rewritten map[keyspace.CollectionID]map[uint64]struct{}
	waiting   int                 // number of these hashes
	seen      map[uint64]struct{} // hashes of the keys of examined documents
	// there maps the hash of a document's collection and _id to whether it was written. A document that is not at a place
	// may have moved to another one by a change of its shard key.
	there map[uint64]bool

	of  keyspace.CollectionID // whose file is open
	at  *os.File
	out *bufio.Writer
}

func (w *rollbackWriter) run(store storage.Store) (err error) {
	if w.reader, err = store.Snapshot(w.ctx, 0); err != nil {
		return err
	}
	defer w.reader.Close()
	w.begun, w.next = map[keyspace.CollectionID]bool{}, map[keyspace.CollectionID]keyspace.CollectionID{}
	w.rewritten, w.seen, w.there = map[keyspace.CollectionID]map[uint64]struct{}{}, map[uint64]struct{}{}, map[uint64]bool{}
	err = w.read(store, changelog.Commands, w.noteRewritten)
	if err != nil {
		return err
	}
	for id := range w.next {
		w.rewritten[w.last(id)] = map[uint64]struct{}{}
	}
	err = w.read(store, changelog.Stream, w.add)
	if err == nil {
		err = w.findRewritten()
	}
	w.countDeletes()
	return errors.Join(err, w.closeFile())
}

// read calls visit with each record of a stream of the change log since the term's beginning.
func (w *rollbackWriter) read(store storage.Store, stream []byte, visit func(r *changelog.Record) error) error {
	var failed error
	from := func(after storage.Timestamp) error {
		_, err := store.ReadLog(w.ctx, stream, after, func(_, _ storage.Timestamp, rec []byte) bool {
			var r changelog.Record
			if failed = w.ctx.Err(); failed == nil {
				r, failed = changelog.Decode(rec)
			}
			if failed == nil {
				failed = visit(&r)
			}
			return failed == nil
		})
		return err
	}
	err := from(w.term.Time)
	if errors.Is(err, storage.ErrLogTruncated) {
		w.done.truncated = true
		err = from(0)
	}
	return errors.Join(err, failed)
}

// noteRewritten records the new number of a collection that a command has rewritten.
func (w *rollbackWriter) noteRewritten(r *changelog.Record) error {
	o, _ := r.Doc.Get("o").Doc()
	first, _ := o.First()
	switch string(first.Name) {
	case "shardCollection", "reshardCollection", "refineCollectionShardKey", "unshardCollection":
		before, _ := r.Doc.Get("o2").Doc()
		if was, ok := before.Get("collection").Int64(); ok && keyspace.CollectionID(was) != r.Collection {
			w.next[keyspace.CollectionID(was)] = r.Collection
		}
	}
	return nil
}

// last returns the newest number of the collection that had a number.
func (w *rollbackWriter) last(id keyspace.CollectionID) keyspace.CollectionID {
	for range w.next {
		next, ok := w.next[id]
		if !ok {
			break
		}
		id = next
	}
	return id
}

// add writes the document that a record of the change log has changed, unless it was written before.
func (w *rollbackWriter) add(r *changelog.Record) error {
	switch r.Op {
	case changelog.Command:
		w.done.commands++
		return nil
	case changelog.Moved:
		return nil
	}
	key := r.Key
	if r.Op == changelog.Insert {
		key = r.Doc
	}
	id := w.last(r.Collection)
	document := w.document(id, key)
	coll := w.snap.ByID(id)
	if coll == nil { // it was dropped
		w.note(document, false)
		return nil
	}
	if waiting := w.rewritten[id]; waiting != nil {
		before := len(waiting)
		waiting[document] = struct{}{}
		if w.waiting += len(waiting) - before; w.waiting >= rollbackSeenMax {
			return w.findRewritten()
		}
		return nil
	}
	place := keyspace.AppendRecord(nil, coll.ID, r.Position, r.ID)
	if !w.first(place) {
		return nil
	}
	doc, err := w.reader.Get(w.ctx, place, nil)
	if errors.Is(err, storage.ErrNotFound) {
		w.note(document, false)
		return nil
	}
	if err == nil {
		err = w.write(coll, document, doc)
	}
	return err
}

// document returns the hash of a collection and the _id in a document or a document key. Two documents of a
// collection whose shard keys differ may have the same _id: they count as one deleted document.
func (w *rollbackWriter) document(c keyspace.CollectionID, key bson.Raw) uint64 {
	b := binary.BigEndian.AppendUint64(nil, uint64(c))
	return maphash.Bytes(w.seed, keystring.Append(b, key.Get("_id"), keystring.Ascending, nil, nil))
}

// first reports whether a place is examined for the first time. After rollbackSeenMax places it may be wrong.
func (w *rollbackWriter) first(place []byte) bool {
	sum := maphash.Bytes(w.seed, place)
	if _, there := w.seen[sum]; there {
		return false
	}
	if len(w.seen) == rollbackSeenMax {
		clear(w.seen)
	}
	w.seen[sum] = struct{}{}
	return true
}

// note records whether a changed document is there.
func (w *rollbackWriter) note(document uint64, there bool) {
	if len(w.there) == rollbackSeenMax {
		w.countDeletes()
	}
	w.there[document] = w.there[document] || there
}

// countDeletes counts the changed documents that are not there any more.
func (w *rollbackWriter) countDeletes() {
	for _, there := range w.there {
		if !there {
			w.done.deletes++
		}
	}
	clear(w.there)
}

// write writes a document into the file of its collection.
func (w *rollbackWriter) write(coll *catalog.Collection, document uint64, doc []byte) error {
	if err := w.openFile(coll); err != nil {
		return err
	}
	w.done.documents++
	w.note(document, true)
	_, err := w.out.Write(doc)
	return err
}

// findRewritten reads the rewritten collections, and writes those of their documents that were changed.
func (w *rollbackWriter) findRewritten() error {
	for id, waiting := range w.rewritten {
		coll := w.snap.ByID(id)
		if coll == nil || len(waiting) == 0 {
			continue
		}
		for document := range waiting {
			w.note(document, false)
		}
		if err := w.find(coll, waiting); err != nil {
			return err
		}
		clear(waiting)
	}
	w.waiting = 0
	return nil
}

// find writes the documents of a collection whose hashes are among waiting.
func (w *rollbackWriter) find(coll *catalog.Collection, waiting map[uint64]struct{}) error {
	it, err := w.reader.Iter(w.ctx, keyspace.RecordRange(coll.ID), storage.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		document := w.document(coll.ID, it.Value())
		if _, changed := waiting[document]; !changed || !w.first(it.Key()) {
			continue
		}
		if err := w.write(coll, document, it.Value()); err != nil {
			return err
		}
	}
	return it.Err()
}

// countSettings counts the users, roles and settings that were changed since the term's beginning. The change log does not have
// them, but the write-ahead log that is kept for backups.
func (w *rollbackWriter) countSettings(files backup.Source) error {
	changed := map[uint64]struct{}{}
	upTo := files.Written()
	stopped := upTo == 0 // a store that was opened for reading has no position of its own: its logs are read to their end
	if stopped {
		upTo = math.MaxUint64
	}
	err := files.Writes(w.ctx, w.term.Next, upTo, func(x pebblekv.Write) error {
		return x.EachMeta(func(kind keyspace.MetaKind, key []byte) {
			switch kind {
			case keyspace.MetaUser, keyspace.MetaRole, keyspace.MetaSetting:
				if len(changed) < rollbackSeenMax {
					changed[maphash.Bytes(w.seed, key)] = struct{}{}
				}
			}
		})
	})
	w.done.settings = len(changed)
	if errors.Is(err, storage.ErrLogTruncated) {
		w.done.unsure, err = !stopped, nil
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
	dir := filepath.Join(w.folder, bson.UUIDText(coll.UUID))
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
		if err := os.WriteFile(name, []byte(coll.Namespace.String()+"\n"), 0o600); err != nil {
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
