package catalog

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// others follows the catalogs of the peers over one store. The protocol is that of the online schema
// change of F1 and TiDB, with notes and heartbeats instead of a schema lease.
//
// Each server has a catalog in memory. A change is based on the state of the store at the change's own
// snapshot, and locks the names that it gives or takes, so that two incompatible changes conflict. In the
// same transaction the server writes a note that it has changed something, under a key of its own, so that
// changes of different collections do not conflict. Every server polls these notes, applies what is new, and
// publishes in its heartbeat up to which time it has applied changes. A change is complete when every peer has
// applied it or has lost its lease: without a lease a server neither reads nor writes, and it applies
// what is new before it gets the next lease. So when a change returns, all servers use it.
type others struct {
	store storage.Shared
	env   *mql.Env
	// followed, if not nil, is called after changes of peers have been applied.
	followed atomic.Pointer[func(before, now *Snapshot)]
	// lapsed, if not nil, is called when the lease of this server has ended.
	lapsed atomic.Pointer[func()]

	// Guarded by mu of the Catalog.
	asOf  storage.Timestamp                  // everything committed up to then is in the current snapshot
	own   storage.Timestamp                  // at or after the newest change of this server, which the current snapshot includes too
	notes map[string]string                  // the notes that the current snapshot includes, by key
	count uint64                             // of attempts to write own notes: no two notes have the same value
	aside [][]byte                           // keys of own notes that the next change deletes; see noteAside
	rows  map[keyspace.CollectionID]entryRow // stored form of the entries in the current snapshot
	wants storage.Timestamp                  // the time that peers are requested to apply
	told  tidings                            // the heartbeat published last
	// topics holds a function for each topic, called when a peer has changed the topic; see OnTopic.
	topics map[string]func(ctx context.Context, r storage.Reader) error

	everywhere atomic.Uint64 // all peers have applied the changes up to this time; see spread.go
	spreading  chan struct{} // held by the one writer that polls the peers

	telling sync.Mutex // keeps a heartbeat from being replaced by an older one; locked before mu
}

// entryRow is an entry in its stored form.
type entryRow []byte

// tidings is the heartbeat that a server publishes to its peers.
type tidings struct {
	wants   storage.Timestamp // the server waits until its peers have applied changes up to then
	applied storage.Timestamp // its catalog has all changes up to then
	drained storage.Timestamp // it has no user of entries that were replaced up to then
}

func (t tidings) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.wants))
	b = binary.BigEndian.AppendUint64(b, uint64(t.applied))
	return binary.BigEndian.AppendUint64(b, uint64(t.drained))
}

// tidingsOf decodes a heartbeat. A server that has just joined has an empty one.
func tidingsOf(message []byte) (t tidings) {
	if len(message) >= 24 {
		t.wants = storage.Timestamp(binary.BigEndian.Uint64(message))
		t.applied = storage.Timestamp(binary.BigEndian.Uint64(message[8:]))
		t.drained = storage.Timestamp(binary.BigEndian.Uint64(message[16:]))
	}
	return t
}

const (
	// followEvery is the interval at which a server polls for changes of peers; each poll sends three
	// requests to the store.
	followEvery = 20 * time.Millisecond
	// followQuiet is the interval after quietAfter polls without changes. The first change that
	// follows waits that much longer for the peers; the next changes do not.
	followQuiet = 200 * time.Millisecond
	quietAfter  = 100
	// awaitEvery is the interval at which a waiter polls the heartbeats of the peers.
	awaitEvery = 5 * time.Millisecond
)

// notePrefix begins the keys of the servers' notes; notes of topics are stored beside them.
const notePrefix = keyspace.ChangePrefix + "by."

// noteKey returns the key of this server's note.
func (o *others) noteKey() []byte {
	id := o.store.Member()
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, append([]byte(notePrefix), id[:]...))
}

// noteAside returns the key for the note of a change inside a larger transaction. That transaction may have
// begun before the newest change of this server, so that writing noteKey, as every other change does, would
// conflict. The next change deletes the note.
func (o *others) noteAside() []byte { return binary.BigEndian.AppendUint64(o.noteKey(), o.count) }

// nameKey returns the key that a change locks to give or take the name of a collection. Names of databases are
// locked by databaseNameKey, where names that differ only in case have the same key.
func nameKey(ns collection.Namespace) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, []byte("name."+ns.String()))
}

func databaseNameKey(name string) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, []byte("database."+strings.ToLower(name)))
}

// refresh applies the changes of peers up to the snapshot of a reader. The caller holds
// mu. It returns the snapshot that was replaced, nil if there was nothing new. If the reader is older than
// the newest change of this server, applying its state would undo that change: a frozen collection would
// have writers again for which no drain waits. Errors: ErrConflict for such a reader; those of the store.
func (c *Catalog) refresh(ctx context.Context, r storage.Reader) (before *Snapshot, err error) {
	o := c.others
	at := r.ReadTimestamp()
	switch {
	case c.unsure != nil:
		return nil, errUnsure
	case at <= o.asOf:
		return nil, nil
	case at < o.own:
		return nil, fmt.Errorf("%w: this state is older than the catalog", storage.ErrConflict)
	}
	notes := map[string]string{}
	err = eachRow(ctx, r, keyspace.MetaPrefixRange(keyspace.MetaVersion, []byte(keyspace.ChangePrefix)), func(key, value []byte) error {
		notes[string(key)] = string(value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if maps.Equal(notes, o.notes) {
		o.asOf = at
		return nil, nil
	}
	changed, err := o.reload(ctx, r, notes)
	if err != nil {
		return nil, err
	}
	if !changed {
		o.notes, o.asOf = notes, at
		return nil, nil
	}
	m, rows, err := c.read(ctx, r, at)
	if err != nil {
		return nil, err
	}
	since := o.asOf + 1 // all changes were committed at or after since: a waiter for any of them also waits for users of the replaced entries
	o.notes, o.rows, o.asOf = notes, rows, at
	before = c.current.Swap(m.next)
	c.memory.Force(m.next.heldAll - before.heldAll)
	close(before.replaced)
	c.changed = at
	c.retire(before, m, since)
	return before, nil
}

// catchUp applies the changes of peers up to the newest change of this server, if txn began before that change.
// An example is a transaction that creates a collection: the change that took the collection's number
// is newer. The snapshot of txn itself is then too old to be applied. The caller holds mu.
func (c *Catalog) catchUp(ctx context.Context, txn storage.Reader) error {
	if c.others == nil {
		return nil
	}
	if at := txn.ReadTimestamp(); at <= c.others.asOf || at >= c.others.own {
		return nil
	}
	r, err := c.store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	before, err := c.refresh(ctx, r)
	if before != nil {
		c.others.tellFollowed(before, c.current.Load())
	}
	return err
}

// look applies what peers have changed by now. Errors: those of refresh.
func (c *Catalog) look(ctx context.Context) error {
	r, err := c.store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	before, err := c.refresh(storage.AtOnce(ctx), r)
	if before != nil {
		c.others.tellFollowed(before, c.current.Load())
	}
	return err
}

// reload reloads the topics whose notes have changed, and reports whether the catalog must be
// read as well.
func (o *others) reload(ctx context.Context, r storage.Reader, notes map[string]string) (changed bool, err error) {
	differs := map[string]bool{}
	for key, value := range notes {
		differs[key] = o.notes[key] != value
	}
	for key := range o.notes {
		differs[key] = differs[key] || notes[key] != o.notes[key]
	}
	for topic, load := range o.topics {
		key := string(keyspace.TopicKey(topic))
		if differs[key] {
			if err := load(ctx, r); err != nil {
				return false, err
			}
		}
		delete(differs, key)
	}
	for key, yes := range differs {
		changed = changed || yes && !strings.HasPrefix(key, string(keyspace.TopicKey("")))
	}
	return changed || o.notes == nil, nil
}

// OnTopic sets the function that reloads a topic, which is something else that servers keep in memory. It is
// called after peers have changed the topic, with a reader that has the changes. It must not change the catalog.
func (c *Catalog) OnTopic(topic string, load func(ctx context.Context, r storage.Reader) error) {
	if c.others == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others.topics[topic] = load
	delete(c.others.notes, string(keyspace.TopicKey(topic)))
	c.others.asOf = 0 // the next poll loads what has changed since the topic was loaded
}

// Everywhere waits until every peer has applied all that was committed up to a time, or has lost its lease.
// Errors: those of ctx; ErrClosed.
func (c *Catalog) Everywhere(ctx context.Context, at storage.Timestamp) error {
	return c.await(ctx, at, false)
}

// tellFollowed calls the function set by OnFollowed; the caller may hold mu.
func (o *others) tellFollowed(before, now *Snapshot) {
	if f := o.followed.Load(); f != nil {
		(*f)(before, now)
	}
}

// OnFollowed sets the function that is called after changes of peers have been applied and before this server
// publishes that: so before the command that made the change returns to its client. It must be quick, and
// must not wait for the catalog.
func (c *Catalog) OnFollowed(f func(before, now *Snapshot)) {
	if c.others != nil {
		c.others.followed.Store(&f)
	}
}

// OnLapse sets the function that is called when the lease of this server has ended, before the server
// does anything under the next lease.
func (c *Catalog) OnLapse(f func()) {
	if c.others != nil {
		c.others.lapsed.Store(&f)
	}
}

// join reads the catalog for the first time, as a member of a shared store.
func (c *Catalog) join(ctx context.Context, shared storage.Shared, r storage.Reader, show release.Release) error {
	env := mql.NewEnv(context.WithoutCancel(ctx))
	env.Release, env.Kept, env.JavaScript = show, show, true
	c.others = &others{store: shared, env: env, topics: map[string]func(context.Context, storage.Reader) error{}, spreading: make(chan struct{}, 1)}
	c.current.Store(newSnapshot(0))
	c.mu.Lock()
	defer c.mu.Unlock()
	m, rows, err := c.read(ctx, r, r.ReadTimestamp())
	if err != nil {
		return fmt.Errorf("reading the catalog: %w", err)
	}
	c.others.rows = rows
	c.current.Store(m.next)
	c.changed = r.ReadTimestamp() // or earlier: peers may not have applied the newest change yet, and its server may be dead
	shared.Rejoin(func(ctx context.Context, r storage.Reader) error {
		if f := c.others.lapsed.Load(); f != nil {
			(*f)()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		before, err := c.refresh(ctx, r)
		if before != nil {
			c.others.tellFollowed(before, c.current.Load())
		}
		return err
	})
	return nil
}

// read makes a snapshot from the state of a reader. Entries whose stored form is unchanged are
// reused, and so are the unchanged parts of changed entries, because writers compare them by identity.
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
		return nil, nil, err
	}
	rows := map[keyspace.CollectionID]entryRow{}
	err = eachMeta(ctx, r, keyspace.MetaCollection, func(value []byte) error {
		coll, err := decodeCollection(c.others.env, value)
		if err != nil {
			return err
		}
		was := now.byID.get(coll.ID)
		rows[coll.ID] = value
		if was != nil && bytes.Equal(c.others.rows[coll.ID], value) {
			coll = was
		} else {
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
	for id := range now.byID.each {
		if m.next.byID.get(id) == nil {
			m.drops[id] = true
		}
	}
	return m, rows, err
}

// inherit reuses the unchanged parts of the previous entry, which may be nil, and sets the time from
// which readers can use the new entry.
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

// sharing holds what a change writes for the peers.
type sharing struct {
	rows map[keyspace.CollectionID]entryRow // of all entries
	note []byte                             // key of the note that it writes
	gone [][]byte                           // keys of notes that it has deleted
}

// share prepares a change to be seen by peers: it locks names and writes the note, under noteAside if the
// change is part of a larger transaction. The caller holds mu.
func (m *Mutation) share(ctx context.Context, o *others, aside bool) (sharing, error) {
	var keys [][]byte
	for id, c := range m.puts {
		was := m.base.byID.get(id)
		if was == nil || was.Namespace != c.Namespace {
			keys = append(keys, nameKey(c.Namespace))
		}
		if was != nil && was.Namespace != c.Namespace {
			keys = append(keys, nameKey(was.Namespace))
		}
	}
	for id := range m.drops {
		if was := m.base.byID.get(id); was != nil {
			keys = append(keys, nameKey(was.Namespace))
		}
	}
	for name := range m.dbPuts {
		if m.base.databases.get(name) == nil {
			keys = append(keys, databaseNameKey(name))
		}
	}
	if len(keys) > 0 {
		if err := m.txn.Lock(ctx, keys...); err != nil {
			return sharing{}, err
		}
	}
	o.count++
	s := sharing{rows: maps.Clone(o.rows), note: o.noteKey(), gone: o.aside}
	for id, c := range m.puts {
		s.rows[id] = entryRow(encodeCollection(c))
	}
	for id := range m.drops {
		delete(s.rows, id)
	}
	if aside {
		s.note, s.gone = o.noteAside(), nil
		o.aside = append(o.aside, s.note)
	}
	for _, key := range s.gone {
		if err := m.txn.Delete(key); err != nil {
			return sharing{}, err
		}
	}
	return s, m.txn.Set(s.note, binary.BigEndian.AppendUint64(nil, o.count))
}

// shared records that a change of this server was committed at a time. The caller holds mu.
func (o *others) shared(s sharing, ts storage.Timestamp) {
	o.own = max(o.own, ts)
	o.rows = s.rows
	o.notes = maps.Clone(o.notes)
	if o.notes == nil {
		o.notes = map[string]string{}
	}
	o.notes[string(s.note)] = string(binary.BigEndian.AppendUint64(nil, o.count))
	for _, key := range s.gone {
		delete(o.notes, string(key))
	}
	o.aside = o.aside[len(s.gone):]
}

// Follow applies changes of peers and publishes up to which time it has, until ctx ends. It
// returns at once if this server has the store alone.
func (c *Catalog) Follow(ctx context.Context) {
	if c.others == nil {
		return
	}
	next := time.NewTimer(followEvery)
	defer next.Stop()
	for idle := 0; ; {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		news, err := c.follow(ctx)
		if errors.Is(err, storage.ErrClosed) {
			return
		}
		if idle++; news || err != nil {
			idle = 0
		}
		pause := followEvery
		if idle > quietAfter {
			pause = followQuiet
		}
		next.Reset(pause)
	}
}

// follow polls the changes and requests of peers once, and reports whether there were any.
func (c *Catalog) follow(ctx context.Context) (news bool, err error) {
	o := c.others
	at, list, err := o.store.Members(ctx)
	if err != nil {
		return false, err
	}
	r, err := o.store.Snapshot(ctx, at) // the snapshot is not older than what any peer waits for
	if err != nil {
		return false, err
	}
	defer r.Close()
	c.mu.Lock()
	before, err := c.refresh(storage.AtOnce(ctx), r)
	now := c.current.Load()
	c.mu.Unlock()
	if err != nil && !errors.Is(err, storage.ErrConflict) { // after a conflict the next poll applies the rest
		return false, err
	}
	if before != nil {
		o.tellFollowed(before, now)
	}
	asked := storage.Timestamp(0)
	for _, m := range list {
		if m.ID != o.store.Member() {
			t := tidingsOf(m.Message)
			asked, at = max(asked, t.wants), min(at, t.applied)
		}
	}
	o.spread(at)
	c.mu.Lock()
	if before != nil {
		o.wants = max(o.wants, o.asOf) // writers will wait for that; see spread.go
	}
	t := c.tidings()
	late := o.told.applied < asked && t.applied >= asked || o.told.drained < asked && t.drained > o.told.drained
	news = before != nil || o.told.drained < asked
	c.mu.Unlock()
	if late || before != nil {
		return news, c.tell(ctx)
	}
	return news, nil
}

// tidings computes the heartbeat that can be published now. The caller holds mu.
func (c *Catalog) tidings() tidings {
	t := tidings{wants: c.others.wants, applied: c.others.asOf, drained: c.others.asOf}
	for _, list := range c.old {
		for _, p := range list {
			if !p.over() {
				t.drained = min(t.drained, max(p.replaced, 1)-1) // drained is 0 while the outcome of a change is undetermined
			}
		}
	}
	return t
}

// tell publishes the heartbeat to the peers.
func (c *Catalog) tell(ctx context.Context) error {
	c.others.telling.Lock()
	defer c.others.telling.Unlock()
	c.mu.Lock()
	t := c.tidings()
	c.mu.Unlock()
	if err := c.others.store.Tell(ctx, t.encode()); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others.told.applied = max(c.others.told.applied, t.applied)
	c.others.told.drained = max(c.others.told.drained, t.drained)
	return nil
}

// await waits until every peer has applied all changes up to a time or has lost its lease. With drained it
// also waits until no user of older entries is left there. Errors: those of ctx; ErrClosed.
func (c *Catalog) await(ctx context.Context, at storage.Timestamp, drained bool) error {
	o := c.others
	if o == nil || at == 0 {
		return nil
	}
	every := time.NewTicker(awaitEvery)
	defer every.Stop()
	for asked := false; ; {
		_, list, err := o.store.Members(ctx)
		switch {
		case errors.Is(err, storage.ErrClosed):
			return err
		case err == nil && !o.behind(list, at, drained):
			o.spread(at)
			return nil
		case err == nil && !asked:
			asked = c.want(ctx, at) == nil
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// want makes the peers publish as soon as they have applied changes up to a time.
func (c *Catalog) want(ctx context.Context, at storage.Timestamp) error {
	c.mu.Lock()
	c.others.wants = max(c.others.wants, at)
	c.mu.Unlock()
	return c.tell(ctx)
}

// behind reports whether some peer has not applied the changes up to a time or, with drained, still has users
// of older entries.
func (o *others) behind(list []storage.Member, at storage.Timestamp, drained bool) bool {
	for _, m := range list {
		t := tidingsOf(m.Message)
		if m.ID != o.store.Member() && (t.applied < at || drained && t.drained < at) {
			return true
		}
	}
	return false
}
