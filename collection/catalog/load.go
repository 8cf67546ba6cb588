package catalog

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// read decodes the catalog from the state of a reader. It returns the new snapshot, as the next snapshot of a
// Mutation that holds the differences from the current one, and the stored form of its entries. Entries whose stored
// form is unchanged are reused, and so are the unchanged parts of changed entries, because writers compare them by
// identity.
func (c *Catalog) read(ctx context.Context, r storage.Reader, at storage.Timestamp) (*Mutation, map[keyspace.CollectionID]entryRow, error) {
	now := c.current.Load()
	m := &Mutation{next: newSnapshot(now.Version + 1), puts: map[keyspace.CollectionID]*Collection{}, drops: map[keyspace.CollectionID]bool{}}
	err := eachMeta(ctx, r, keyspace.MetaDatabase, func(value []byte) error {
		d, err := decodeDatabase(value)
		if err == nil {
			m.next.databases.put(d.Name, d)
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reading databases: %w", err)
	}
	rows := map[keyspace.CollectionID]entryRow{}
	err = eachMeta(ctx, r, keyspace.MetaCollection, func(value []byte) error {
		coll, err := decodeCollection(c.peers.env, value)
		if err != nil {
			return err
		}
		was := now.byID.get(coll.ID)
		switch {
		case c.peers.exclusive: // only at the start: since stays 0, because no peer has changed the entry
			coll.pins, coll.Frozen = newPins(), false // the freeze ended with the process that set it
		case was != nil && bytes.Equal(c.peers.rows[coll.ID], value):
			rows[coll.ID], coll = value, was
		default:
			rows[coll.ID] = value
			coll.pins, coll.since = newPins(), at
			coll.inherit(was, at)
			m.puts[coll.ID] = coll
		}
		m.next.Version = max(m.next.Version, coll.Version)
		m.next.byName.put(coll.Namespace, coll)
		m.next.byID.put(coll.ID, coll)
		m.next.count(coll.Namespace.DB, coll.held)
		if m.next.databases.get(coll.Namespace.DB) == nil { // the database was dropped while a collection was created in it
			m.next.databases.put(coll.Namespace.DB, &Database{Name: coll.Namespace.DB})
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reading collections: %w", err)
	}
	for id := range now.byID.each {
		if m.next.byID.get(id) == nil {
			m.drops[id] = true
		}
	}
	return m, rows, nil
}

// inherit reuses the unchanged parts of was, the previous entry of the collection, or nil, because writers compare
// parts by identity. It also sets VisibleFrom, the time from which readers can use the new entry.
func (c *Collection) inherit(was *Collection, at storage.Timestamp) {
	if was == nil {
		if c.Map != nil && c.Map.Version().Epoch > 1 {
			c.VisibleFrom = at
		}
		return
	}
	if bytes.Equal(c.Options.Raw, was.Options.Raw) {
		c.Options = was.Options
	}
	if c.Map != nil && was.Map != nil && bytes.Equal(c.Map.Encode(), was.Map.Encode()) {
		c.Map, c.Key = was.Map, was.Key
	}
	for _, ix := range c.Indexes {
		for _, old := range was.Indexes {
			if ix.ID == old.ID && bytes.Equal(ix.Raw(), old.Raw()) {
				ix.Spec = old.Spec
			}
		}
	}
	c.VisibleFrom = was.VisibleFrom
	if !sameReads(was, c) {
		c.VisibleFrom = at
	}
}

func eachMeta(ctx context.Context, r storage.Reader, kind keyspace.MetaKind, visit func(value []byte) error) error {
	return eachRow(ctx, r, keyspace.MetaRange(kind), func(_, value []byte) error { return visit(bytes.Clone(value)) })
}

// eachRow calls visit for each row of a key range in the state of a reader. visit must copy what it keeps of key and
// value. An error of visit is returned with the key of its row.
func eachRow(ctx context.Context, r storage.Reader, within storage.Range, visit func(key, value []byte) error) error {
	return storage.Each(ctx, r, within, func(key, value []byte) error {
		if err := visit(key, value); err != nil {
			return fmt.Errorf("%s: %w", keyspace.Pretty(key), err)
		}
		return nil
	})
}
