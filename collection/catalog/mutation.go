package catalog

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Mutation collects the edits of one Change: it holds the base snapshot and the next snapshot in
// the making.
type Mutation struct {
	ctx     context.Context
	base    *Snapshot
	next    *Snapshot
	txn     storage.Txn
	memory  *ratelimit.Memory // that counts definitions; nil has no limit
	changed bool
	puts    map[keyspace.CollectionID]*Collection
	drops   map[keyspace.CollectionID]bool
	moved   map[keyspace.CollectionID]bool // collections of which readers now read other shards or index entries than before
	dbPuts  map[string]*Database
	dbDrops map[string]bool
}

func newMutation(ctx context.Context, base *Snapshot, txn storage.Txn, memory *ratelimit.Memory) *Mutation {
	next := &Snapshot{
		Version: base.Version + 1, replaced: make(chan struct{}),
		databases: base.databases, byName: base.byName, byID: base.byID, held: base.held, heldAll: base.heldAll,
	}
	return &Mutation{
		ctx: ctx, base: base, next: next, txn: txn, memory: memory,
		puts:    map[keyspace.CollectionID]*Collection{},
		drops:   map[keyspace.CollectionID]bool{},
		moved:   map[keyspace.CollectionID]bool{},
		dbPuts:  map[string]*Database{},
		dbDrops: map[string]bool{},
	}
}

// Snapshot returns the state with the changes made so far, for reading only.
func (m *Mutation) Snapshot() *Snapshot { return m.next }

// Txn returns the transaction in which the change commits, for further meta keys and for
// records of the change log.
func (m *Mutation) Txn() storage.Txn { m.changed = true; return m.txn }

// PutDatabase adds or replaces a database entry.
func (m *Mutation) PutDatabase(d *Database) {
	m.changed = true
	m.next.databases.put(d.Name, d)
	m.dbPuts[d.Name] = d
	delete(m.dbDrops, d.Name)
}

// DropDatabase removes the entry of a database. The caller has dropped its collections one by one
// before.
func (m *Mutation) DropDatabase(name string) {
	m.changed = true
	m.next.databases.put(name, nil)
	delete(m.dbPuts, name)
	m.dbDrops[name] = true
}

// Put adds a collection, or replaces the entry with the same ID, which may have another name. A missing database is
// created. Errors: NamespaceExists (48), 13297 (a database that differs only in case), errors of fits.
func (m *Mutation) Put(c *Collection) error {
	if err := m.put(c); err != nil {
		return err
	}
	return m.fits(c)
}

// put is Put without the limits of fits.
func (m *Mutation) put(c *Collection) error {
	if other := m.next.byName.get(c.Namespace); other != nil && other.ID != c.ID {
		return mongoerr.NamespaceTaken(c.Namespace.String())
	}
	if err := m.NeedDatabase(c.Namespace.DB); err != nil {
		return err
	}
	m.changed = true
	if before := m.next.byID.get(c.ID); before != nil {
		m.next.count(before.Namespace.DB, -before.held)
		m.next.byName.put(before.Namespace, nil)
		m.moved[c.ID] = m.moved[c.ID] || !sameReads(before, c)
	} else if c.Map != nil && c.Map.Version().Epoch > 1 {
		m.moved[c.ID] = true // a copy made under another shard key
	}
	c.Version, c.pins, c.held = m.next.Version, newPins(), weigh(c)
	m.next.count(c.Namespace.DB, c.held)
	m.next.byName.put(c.Namespace, c)
	m.next.byID.put(c.ID, c)
	m.puts[c.ID] = c
	delete(m.drops, c.ID)
	return nil
}

// sameReads reports whether a reader finds the same index entries by two versions of a collection's entry: the shards
// are the same, and no index has become ready in between.
func sameReads(before, now *Collection) bool {
	if before.Map != now.Map {
		return false
	}
	ready := map[keyspace.IndexID]bool{}
	for _, ix := range before.Indexes {
		ready[ix.ID] = ix.State == IndexReady
	}
	for _, ix := range now.Indexes {
		if ix.State == IndexReady && !ready[ix.ID] {
			return false
		}
	}
	return true
}

// Drop removes a collection from the catalog. The caller deletes the collection's keys from the store after the next
// drain.
func (m *Mutation) Drop(c *Collection) {
	m.changed = true
	if before := m.next.byID.get(c.ID); before != nil {
		m.next.count(before.Namespace.DB, -before.held)
	}
	m.next.byName.put(c.Namespace, nil)
	m.next.byID.put(c.ID, nil)
	delete(m.puts, c.ID)
	m.drops[c.ID] = true
}

// NeedDatabase creates the database if it does not exist.
// Errors: 13297 (another differs only in case).
func (m *Mutation) NeedDatabase(name string) error {
	if m.next.databases.get(name) != nil {
		return nil
	}
	for other := range m.next.databases.each {
		if equalFold(other, name) {
			return mongoerr.New(13297, "db already exists with different case already have: [%s] trying to create [%s]", other, name)
		}
	}
	m.PutDatabase(&Database{Name: name})
	return nil
}

func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		x, y := a[i], b[i]
		if 'A' <= x && x <= 'Z' {
			x += 'a' - 'A'
		}
		if 'A' <= y && y <= 'Z' {
			y += 'a' - 'A'
		}
		if x != y {
			return false
		}
	}
	return true
}

// NewCollection returns a new catalog entry with a fresh ID and, unless it is of a view, an _id_ index. The caller
// adds the entry with Put.
func (m *Mutation) NewCollection(env *mql.Env, ns collection.Namespace, options bson.Raw) (*Collection, error) {
	if len(options) == 0 {
		options = bson.Empty
	}
	o, err := ParseOptions(env, options.Clone(), mql.NewestCollator)
	if err != nil {
		return nil, err
	}
	n, err := m.nextID()
	if err != nil {
		return nil, err
	}
	c := &Collection{Namespace: ns, ID: keyspace.CollectionID(n), UUID: bson.NewUUID(), Options: o, NextIndex: 2}
	if c.IsView() {
		return c, nil
	}
	if c.Map, err = shard.NewMap(shard.Unsharded, 1, 1); err != nil {
		return nil, err
	}
	ix, err := newIDIndex(env, o.CollationRaw, mql.NewestCollator)
	if err != nil {
		return nil, err
	}
	if o.Capped {
		ix.uniqueID()
	}
	c.Indexes = []*Index{ix}
	return c, nil
}

// nextID returns a number that, once the change is committed, is never returned again.
func (m *Mutation) nextID() (uint64, error) {
	key := keyspace.AppendMeta(nil, keyspace.MetaCounter, []byte("collection"))
	v, err := m.txn.Get(m.ctx, key, nil)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return 0, err
	}
	n := uint64(1)
	if len(v) == 8 {
		n = binary.BigEndian.Uint64(v) + 1
	}
	m.changed = true
	return n, m.txn.Set(key, binary.BigEndian.AppendUint64(nil, n))
}

// write puts the changed entries into the transaction.
func (m *Mutation) write() error {
	for name, d := range m.dbPuts {
		if err := m.txn.Set(databaseKey(name), encodeDatabase(d)); err != nil {
			return err
		}
	}
	for name := range m.dbDrops {
		if err := m.txn.Delete(databaseKey(name)); err != nil {
			return err
		}
	}
	for id, c := range m.puts {
		if err := m.txn.Set(collectionKey(id), encodeCollection(c)); err != nil {
			return err
		}
	}
	for id := range m.drops {
		if err := m.txn.Delete(collectionKey(id)); err != nil {
			return err
		}
	}
	return nil
}

func collectionKey(id keyspace.CollectionID) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaCollection, binary.BigEndian.AppendUint64(nil, uint64(id)))
}

func databaseKey(name string) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaDatabase, []byte(name))
}
