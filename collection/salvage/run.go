package salvage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// Sink receives the saved documents.
type Sink interface {
	// Begin begins a collection or view. A document of which a newer version may have been lost, or that may have
	// been deleted, is passed to older, any other to documents. end is called after the last one.
	Begin(snap *catalog.Snapshot, coll *catalog.Collection) (documents, older func(doc bson.Raw) error, end func() error, err error)
}

// Report holds the result of a Run.
type Report struct {
	Catalog     *catalog.Snapshot
	Collections []Saved
	// Damages are the reasons for which documents are missing.
	Damages []storage.Damage
	// Complete: the manifest lists the tables of the store.
	Complete bool
}

// Saved holds the numbers for one collection.
type Saved struct {
	Namespace collection.Namespace
	Documents int64 // written, including those from the change log
	FromLog   int64 // damaged records whose newest version is in the change log
	Found     int64 // those of which no table has any version
	Older     int64 // those of which a newer version may be lost
	Invalid   int64 // records that are not documents
	// Nameless is set if the catalog has lost the collection, so that its name was generated.
	Nameless bool
}

// Run writes all documents that can be read from the files to the sink, after Verify and Prepare of the folder.
// progress is called with 1 for each document of Saved.Documents. Errors: the errors of the sink, progress and ctx.
func Run(ctx context.Context, f *filescan.Folder, to Sink, progress func(n int64) error) (*Report, error) {
	snap, err := Catalog(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}
	s := &saver{ctx: ctx, f: f, to: to, progress: progress, report: &Report{Catalog: snap, Damages: f.Damages, Complete: f.Listed()}}
	if err := s.readLog(); err != nil {
		return nil, err
	}
	for _, coll := range snap.Collections("") {
		if err := s.save(coll, false); err != nil {
			return nil, fmt.Errorf("%s: %w", coll.Namespace, err)
		}
	}
	return s.report, s.nameless(snap)
}

// saver is a running Run.
type saver struct {
	ctx      context.Context
	f        *filescan.Folder
	to       Sink
	report   *Report
	progress func(n int64) error
	newest   map[string]change // of damaged records, by their keys
}

// save saves one collection or view.
func (s *saver) save(coll *catalog.Collection, nameless bool) error {
	documents, older, end, err := s.to.Begin(s.report.Catalog, coll)
	if err != nil {
		return err
	}
	if coll.IsView() {
		return end()
	}
	n := Saved{Namespace: coll.Namespace, Nameless: nameless}
	write := func(doc bson.Raw) error {
		n.Documents++
		return errors.Join(s.progress(1), documents(doc))
	}
	r := keyspace.RecordRange(coll.ID)
	err = s.f.Scan(s.ctx, r, func(e filescan.Entry) error {
		doc, err := bson.Parse(e.Value, bson.Limits{Bytes: bson.MaxInternalBytes})
		if err != nil {
			n.Invalid++
			return nil
		}
		if !e.Outdated {
			delete(s.newest, string(e.Key))
			return write(doc)
		}
		c, ok := s.newest[string(e.Key)]
		delete(s.newest, string(e.Key))
		switch {
		case ok && c.deleted:
			return nil
		case ok && c.doc != nil:
			n.FromLog++
			return write(c.doc)
		}
		n.Older++
		return older(doc)
	})
	if err != nil {
		return err
	}
	for key, c := range s.newest {
		if r.Contains([]byte(key)) && c.doc != nil {
			n.FromLog, n.Found = n.FromLog+1, n.Found+1
			if err := write(c.doc); err != nil {
				return err
			}
		}
	}
	s.report.Collections = append(s.report.Collections, n)
	return end()
}

// errFound ends a scan for one key.
var errFound = errors.New("found")

// nameless saves the documents of collections that the catalog has lost. If the catalog is undamaged, it does
// nothing: then the only such collections are those that were about to be deleted.
func (s *saver) nameless(snap *catalog.Snapshot) error {
	if !s.catalogDamaged() {
		return nil
	}
	ids := map[keyspace.CollectionID]bool{}
	for key, c := range s.newest {
		if id, ok := keyspace.CollectionOf([]byte(key)); ok && c.doc != nil {
			ids[id] = true
		}
	}
	for all := keyspace.PrefixRange(keyspace.RecordRange(0).Start[:1]); ; {
		var id keyspace.CollectionID
		err := s.f.Scan(s.ctx, all, func(e filescan.Entry) error {
			id, _ = keyspace.CollectionOf(e.Key)
			return errFound
		})
		if err == nil {
			break
		}
		if !errors.Is(err, errFound) {
			return err
		}
		ids[id] = true
		all.Start = keyspace.RecordRange(id).End
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if snap.ByID(id) != nil {
			continue
		}
		coll := &catalog.Collection{ID: id, Namespace: collection.Namespace{DB: "salvaged", Coll: fmt.Sprintf("collection_%d", id)}}
		if err := s.save(coll, true); err != nil {
			return err
		}
	}
	return nil
}

// catalogDamaged reports whether collections may be missing in the catalog.
func (s *saver) catalogDamaged() bool {
	for _, d := range s.f.Damages {
		r := keyspace.MetaRange(keyspace.MetaCollection)
		if d.Kind != storage.DamagedTable || d.Keys.End == nil ||
			bytes.Compare(d.Keys.Start, r.End) < 0 && bytes.Compare(d.Keys.End, r.Start) > 0 {
			return true
		}
	}
	return false
}
