package changestream

import (
	"bytes"
	"context"
	"errors"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// entry is a collection or view at one time of the log. Immutable.
type entry struct {
	id   keyspace.CollectionID
	ns   collection.Namespace
	uuid [16]byte
	key  shard.KeyPattern
	view bool // or a time-series collection
	// series is true for a time-series collection, whose documents streams do not show. Manual:
	// core/timeseries/timeseries-limitations#change-streams.
	series bool
}

// same reports whether events look the same under both entries.
func (e *entry) same(f *entry) bool {
	return e == f || e.ns == f.ns && e.uuid == f.uuid && bytes.Equal(e.key.Spec(), f.key.Spec())
}

// names holds the names of all collections, by their numbers, at one time of the log. apply moves that time past a
// DDL command.
type names struct {
	byID map[keyspace.CollectionID]*entry
}

// namesAt returns the names right after time at: those of the present catalog, with later commands
// reverted.
// Errors: ChangeStreamHistoryLost (286), storage errors.
func namesAt(ctx context.Context, store storage.Store, present func() *catalog.Snapshot, at storage.Timestamp) (*names, error) {
	snap := present()
	// What the snapshot contains is committed; once it is durable, the log contains it. Commands
	// after the snapshot do no harm: reverting a command that the snapshot does not contain changes
	// nothing.
	if err := store.Sync(ctx); err != nil {
		return nil, err
	}
	end := store.Durable() // later records do no harm, and would be a moving target
	n := &names{byID: map[keyspace.CollectionID]*entry{}}
	for _, db := range snap.Databases() {
		for _, c := range snap.Collections(db.Name) {
			series := c.Options.TimeSeries != nil
			n.byID[c.ID] = &entry{c.ID, c.Namespace, c.UUID, c.Key, series || c.IsView(), series}
		}
	}
	var since []command
	for after := at; ; {
		next, err := store.ReadLog(ctx, changelog.Commands, after, func(_, _ storage.Timestamp, rec []byte) bool {
			r, err := changelog.Decode(append([]byte(nil), rec...))
			if err != nil {
				return true
			}
			if c, ok := readCommand(&r); ok {
				since = append(since, c)
			}
			return true
		})
		if errors.Is(err, storage.ErrLogTruncated) {
			return nil, errHistoryLost()
		}
		if err != nil {
			return nil, err
		}
		if next == after || len(since) == 0 || next >= end {
			break
		}
		after = next
	}
	for i := len(since) - 1; i >= 0; i-- {
		n.revert(&since[i])
	}
	return n, nil
}

// Numbers returns, for each namespace, the number of the collection or view that it named right
// after a time; absent namespaces give 0. Errors: ChangeStreamHistoryLost (286), storage errors.
func Numbers(ctx context.Context, store storage.Store, present func() *catalog.Snapshot, at storage.Timestamp) (map[collection.Namespace]keyspace.CollectionID, error) {
	n, err := namesAt(ctx, store, present, at)
	if err != nil {
		return nil, err
	}
	numbers := make(map[collection.Namespace]keyspace.CollectionID, len(n.byID))
	for id, e := range n.byID {
		numbers[e.ns] = id
	}
	return numbers, nil
}

// errHistoryLost is the error of a stream that cannot continue because a part of the log that it
// has not read yet was dropped.
func errHistoryLost() error {
	return mongoerr.New(mongoerr.ChangeStreamHistoryLost, "Resume of change stream was not possible, as the resume point may no longer be in the oplog.").
		With(mongoerr.NonResumableChangeStreamError)
}

// apply updates the names by a command.
func (n *names) apply(c *command) {
	switch c.name {
	case "create":
		n.byID[c.id] = c.entry(commandKey(c.o, "shardKey"))
	case "drop":
		delete(n.byID, c.id)
	case "renameCollection":
		if gone, ok := c.o2.Get("collection").Int64(); ok {
			delete(n.byID, keyspace.CollectionID(gone))
		}
		if e := n.byID[c.id]; e != nil {
			moved := *e
			moved.ns = c.to
			n.byID[c.id] = &moved
		}
	case "shardCollection", "reshardCollection", "refineCollectionShardKey", "unshardCollection":
		if was, ok := c.o2.Get("collection").Int64(); ok {
			delete(n.byID, keyspace.CollectionID(was))
		}
		n.byID[c.id] = c.entry(commandKey(c.o, "shardKey"))
	}
}

// revert undoes a command.
func (n *names) revert(c *command) {
	switch c.name {
	case "create":
		delete(n.byID, c.id)
	case "drop":
		n.byID[c.id] = c.entry(commandKey(c.o2, "shardKey"))
	case "renameCollection":
		if e := n.byID[c.id]; e != nil {
			moved := *e
			moved.ns = c.ns
			n.byID[c.id] = &moved
		}
		if gone, ok := c.o2.Get("collection").Int64(); ok {
			target := &entry{id: keyspace.CollectionID(gone), ns: c.to, key: commandKey(c.o2, "shardKey")}
			if _, b, ok := c.o.Get("dropTarget").Binary(); ok {
				copy(target.uuid[:], b)
			}
			n.byID[target.id] = target
		}
	case "shardCollection", "reshardCollection", "refineCollectionShardKey", "unshardCollection":
		was, ok := c.o2.Get("collection").Int64()
		if !ok {
			break
		}
		delete(n.byID, c.id)
		e := c.entry(commandKey(c.o2, "shardKey"))
		e.id = keyspace.CollectionID(was)
		n.byID[e.id] = e
	}
}

// entry makes the entry of a command's collection.
func (c *command) entry(key shard.KeyPattern) *entry {
	e := &entry{id: c.id, ns: c.ns, key: key, view: c.view, series: c.series}
	if _, b, ok := c.uuid.Binary(); ok {
		copy(e.uuid[:], b)
	}
	return e
}
