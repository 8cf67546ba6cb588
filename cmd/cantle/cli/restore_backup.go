package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/dumps"
	"github.com/cantledb/cantle/cmd/cantle/progress"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/backup"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// holdBackups opens the backup folder from. Until release is called, its files are not deleted, and the folder dir,
// which is empty, exists for the caller.
func holdBackups(ctx context.Context, from string) (dir string, folder *backup.Folder, release func(), err error) {
	archive, err := openArchive(from)
	if err != nil {
		return "", nil, nil, usageError{err}
	}
	return backup.Hold(ctx, archive)
}

// restoreMoment is RestoreMoment with a line of progress, and a line for each backup that cannot be used.
func restoreMoment(ctx context.Context, folder *backup.Folder, at storage.Timestamp, dir string, documentsOnly bool, s Streams) (*backup.Plan, error) {
	return folder.RestoreMoment(ctx, at, dir, documentsOnly, func(plan *backup.Plan) (backup.Report, func(error)) {
		var m meters
		return m.report(s), func(err error) {
			m.end()
			if err != nil {
				fmt.Fprintf(s.Err, "backup %d cannot be used: %v\n", plan.Base.Number, err)
			}
		}
	})
}

// restoreWhole makes the folder of a database with the state of a moment, from backups. The store gets its final name
// only when it is complete, so that an interrupted restore is not taken for a database.
func restoreWhole(ctx context.Context, a restoreArgs, s Streams) error {
	if list, err := os.ReadDir(a.data); err == nil && slices.ContainsFunc(list, func(e os.DirEntry) bool { return e.Name() != daemon.UnfinishedName }) {
		return usageErrorf("the folder %s is not empty", a.data)
	}
	_, folder, release, err := holdBackups(ctx, a.from)
	if err != nil {
		return err
	}
	defer release()
	unfinished := filepath.Join(a.data, daemon.UnfinishedName)
	plan, err := restoreMoment(ctx, folder, a.at, unfinished, false, s)
	if err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	if err := os.Rename(unfinished, storeOf(a.data)); err != nil {
		return err
	}
	if n := folder.NewestTerm(); n > backup.FirstTerm {
		kept := backup.Standing{State: backup.Restored, Archive: folder.Location(), Term: backup.Term{Number: n}}
		if err := kept.Save(a.data); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.Err, "%s has the state of the server at %s\nstart it with: cantle serve --data %s\n", a.data, backup.MomentText(plan.At), a.data)
	return nil
}

// fromBackup loads collections as of a moment into a running server.
func (r *restoring) fromBackup(ctx context.Context, s Streams) error {
	dir, folder, release, err := holdBackups(ctx, r.from)
	if err != nil {
		return err
	}
	defer release()
	dir = filepath.Join(dir, "store")
	plan, err := restoreMoment(ctx, folder, r.at, dir, true, s)
	if err != nil {
		return err
	}
	store, err := pebblekv.Open(dir, pebblekv.Options{ReadOnly: true, ReserveBytes: -1})
	if err != nil {
		return err
	}
	err = r.fromStore(ctx, store, backup.MomentText(plan.At), s.Err)
	return errors.Join(err, store.Close())
}

// fromStore loads the requested collections of a store.
func (r *restoring) fromStore(ctx context.Context, store storage.Store, moment string, errs io.Writer) error {
	r.shows = progress.Share(errs, "documents", 0)
	cat, err := catalog.Open(ctx, store, release.Default)
	if err != nil {
		return err
	}
	at, err := store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer at.Close()
	snap := cat.Peek()
	var wanted, views []*catalog.Collection
	for _, coll := range snap.Collections("") {
		switch d := asDumped(snap, coll); {
		case !r.selects(d) || strings.HasPrefix(d.Coll, "system.") && d.Coll != "system.js":
		case d.Kind == "view":
			views = append(views, coll)
		default:
			wanted = append(wanted, coll)
		}
	}
	if len(wanted)+len(views) == 0 {
		return fmt.Errorf("no selected collection existed at %s; %s", moment, existing(snap))
	}
	if err := r.mayMake(ctx, snap, slices.Concat(wanted, views)); err != nil {
		return err
	}
	total := int64(0)
	for _, coll := range wanted {
		n, err := countRecords(ctx, at, coll)
		if err != nil {
			return err
		}
		total += n
	}
	r.shows = progress.Share(errs, "documents", total)
	err = each(ctx, r.transfer, r.parallel, wanted, func(ctx context.Context, t *transfer, coll *catalog.Collection) error {
		if err := r.fromCollection(ctx, t, at, snap, coll); err != nil {
			return fmt.Errorf("%s: %w", coll.Namespace, r.explain(err))
		}
		return nil
	})
	for _, coll := range views { // after the collections that they read
		if err == nil {
			_, err = r.begin(ctx, r.transfer, asDumped(snap, coll), nil)
		}
	}
	return err
}

// namesMax is the number of namespaces that an error lists.
const namesMax = 20

// existing returns a sentence about the collections of a catalog.
func existing(snap *catalog.Snapshot) string {
	var names []string
	for _, coll := range snap.Collections("") {
		if d := asDumped(snap, coll); !strings.HasPrefix(d.Coll, "system.") && d.DB != "config" && d.DB != "local" {
			names = append(names, d.NS())
		}
	}
	if len(names) == 0 {
		return "there were no collections then"
	}
	slices.Sort(names)
	more := ""
	if n := len(names) - namesMax; n > 0 {
		names, more = names[:namesMax], fmt.Sprintf(" and %d more", n)
	}
	return "these existed: " + strings.Join(names, ", ") + more
}

// asDumped describes a collection of a restored catalog in the form of a dump, so that the code of restore can load
// it.
func asDumped(snap *catalog.Snapshot, coll *catalog.Collection) *dumps.Collection {
	ns := coll.Namespace
	return &dumps.Collection{DB: ns.DB, Coll: ns.Coll, Data: ns.Coll, Kind: coll.Kind(), Metadata: savedMetadata(coll, snap.Database(ns.DB))}
}

// named returns the name that a collection of the dump gets on the server: that of the first --rename that applies, or
// its own.
func (r *restoring) named(d *dumps.Collection) (db, coll string) {
	for _, x := range r.renames {
		if ns, ok := x.Apply(d.NS()); ok {
			db, coll, _ = strings.Cut(ns, ".")
			return db, coll
		}
	}
	return d.DB, d.Coll
}

// mayMake returns an error if a collection to be restored already exists on the server, unless --drop replaces it:
// restored documents would be mixed with existing ones.
func (r *restoring) mayMake(ctx context.Context, snap *catalog.Snapshot, list []*catalog.Collection) error {
	if r.drop {
		return nil
	}
	there := map[string]bool{} // namespaces
	asked := map[string]bool{} // databases
	for _, coll := range list {
		db, name := r.named(asDumped(snap, coll))
		if !asked[db] {
			asked[db] = true
			docs, err := r.all(ctx, db, bson.D{{"listCollections", 1}, {"nameOnly", true}}.Doc())
			if err != nil {
				return err
			}
			for _, d := range docs {
				n, _ := d.Get("name").Str()
				there[db+"."+n] = true
			}
		}
		if there[db+"."+name] {
			return fmt.Errorf("%s.%s exists: restore under another name (--rename %s=%s_restored), or replace it (--drop)", db, name, coll.Namespace, coll.Namespace)
		}
	}
	return nil
}

// offerOf returns throughput in the form of the extension commands.
func offerOf(t catalog.Throughput) bson.D {
	offer := bson.D{}
	switch t.Mode {
	case catalog.ThroughputManual:
		offer = bson.D{{"offerThroughput", t.RU}}
	case catalog.ThroughputAutoscale:
		offer = bson.D{{"autoScaleSettings", bson.D{{"maxThroughput", t.RU}}}}
	case catalog.ThroughputServerless:
		offer = bson.D{{"serverless", true}}
	}
	for _, x := range []struct {
		name  string
		value catalog.Switch
	}{{"serverSideRetry", t.Switches.ServerSideRetry}, {"burst", t.Switches.Burst}} {
		if x.value != catalog.Inherit {
			offer = append(offer, bson.E{x.name, x.value == catalog.On})
		}
	}
	if most := t.Switches.RequestMax; most != 0 {
		offer = append(offer, bson.E{"defaultMaxRequestUnits", float64(most) / 1e6})
	}
	return offer
}

// countRecords counts the documents of a collection.
func countRecords(ctx context.Context, at storage.Reader, coll *catalog.Collection) (n int64, err error) {
	it, err := at.Iter(ctx, keyspace.RecordRange(coll.ID), storage.IterOptions{KeysOnly: true})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	for it.Next() {
		n++
	}
	return n, it.Err()
}

// fromCollection loads one collection, in insertion order.
func (r *restoring) fromCollection(ctx context.Context, t *transfer, at storage.Reader, snap *catalog.Snapshot, coll *catalog.Collection) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l, err := r.begin(ctx, t, asDumped(snap, coll), cancel)
	if l == nil || err != nil {
		return err
	}
	defer l.abandon()
	env := mql.NewEnv(ctx)
	for _, d := range coll.Map.Shards() {
		scan, err := exec.Build(&plan.RecordScan{}, exec.Source{Coll: coll, Shard: d, Reader: at})
		if err != nil {
			return err
		}
		err = exec.Drain(env, scan, func(row *exec.Row) error {
			doc, err := bson.Parse(row.Doc, bson.Limits{Bytes: bson.MaxInternalBytes})
			if err != nil {
				return fmt.Errorf("the backup contains an invalid document: %w", err)
			}
			r.shows.Add(1)
			return l.add(ctx, doc, false)
		})
		scan.Close()
		if err != nil {
			return err
		}
	}
	return r.finish(ctx, t, l)
}
