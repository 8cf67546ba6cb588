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

// peerSync follows the catalogs of the peers over one store. The protocol is that of the online schema
// change of F1 and TiDB, with notes and heartbeats instead of a schema lease. F1's schema version is here the
// catalog version, published as applied.
//
// Each server has a catalog in memory. A change is based on the state of the store at the change's own
// snapshot, and locks the names that it gives or takes, so that two incompatible changes conflict. In the
// same transaction the server writes a note that it has changed something, under a key of its own, so that
// changes of different collections do not conflict. Every server polls these notes, applies what is new, and
// publishes in its heartbeat up to which time it has applied changes. A change is complete when every peer has
// applied it or has lost its lease: without a lease a server neither reads nor writes, and it applies
// what is new before it gets the next lease. So when a change returns, all servers use it.
type peerSync struct {
	store storage.Shared
	env   *mql.Env
	// onPeerChange, if not nil, is called after changes of peers have been applied.
	onPeerChange atomic.Pointer[func(before, now *Snapshot)]
	// onLeaseLost, if not nil, is called when the lease of this server has ended.
	onLeaseLost atomic.Pointer[func()]

	// Guarded by mu of the Catalog.
	appliedUpTo storage.Timestamp                  // everything committed up to then is in the current snapshot
	own         storage.Timestamp                  // at or after the newest change of this server, which the current snapshot includes too
	notes       map[string]string                  // the notes that the current snapshot includes, by key
	count       uint64                             // of attempts to write own notes: no two notes have the same value
	staleNotes  [][]byte                           // keys of own notes that the next change deletes; see txnNoteKey
	rows        map[keyspace.CollectionID]entryRow // stored form of the entries in the current snapshot
	awaited     storage.Timestamp                  // the time that peers are requested to apply
	told        heartbeat                          // the heartbeat published last
	// topics holds a function for each topic, called when a peer has changed the topic; see OnTopic.
	topics map[string]func(ctx context.Context, r storage.Reader) error

	appliedByAll atomic.Uint64 // all peers have applied the changes up to this time; see applied_by_all.go
	polling      chan struct{} // held by the one writer that polls the peers

	publishing sync.Mutex // keeps a heartbeat from being replaced by an older one; locked before mu
}

// entryRow is an entry in its stored form.
type entryRow []byte

// heartbeat is the heartbeat that a server publishes to its peers.
type heartbeat struct {
	awaited storage.Timestamp // the server waits until its peers have applied changes up to then
	applied storage.Timestamp // its catalog has all changes up to then
	drained storage.Timestamp // it has no user of entries that were replaced up to then
}

func (t heartbeat) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.awaited))
	b = binary.BigEndian.AppendUint64(b, uint64(t.applied))
	return binary.BigEndian.AppendUint64(b, uint64(t.drained))
}

// decodeHeartbeat decodes a heartbeat. A server that has just joined has an empty one.
func decodeHeartbeat(message []byte) (t heartbeat) {
	if len(message) >= 24 {
		t.awaited = storage.Timestamp(binary.BigEndian.Uint64(message))
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
func (o *peerSync) noteKey() []byte {
	id := o.store.Member()
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, append([]byte(notePrefix), id[:]...))
}

// txnNoteKey returns the key for the note of a change inside a larger transaction. That transaction may have
// begun before the newest change of this server, so that writing noteKey, as every other change does, would
// conflict. The next change deletes the note.
func (o *peerSync) txnNoteKey() []byte { return binary.BigEndian.AppendUint64(o.noteKey(), o.count) }

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
	o := c.peers
	at := r.ReadTimestamp()
	switch {
	case c.unsure != nil:
		return nil, errCommitUndetermined
	case at <= o.appliedUpTo:
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
		o.appliedUpTo = at
		return nil, nil
	}
	changed, err := o.reloadTopics(ctx, r, notes)
	if err != nil {
		return nil, err
	}
	if !changed {
		o.notes, o.appliedUpTo = notes, at
		return nil, nil
	}
	m, rows, err := c.read(ctx, r, at)
	if err != nil {
		return nil, err
	}
	since := o.appliedUpTo + 1 // all changes were committed at or after since: a waiter for any of them also waits for users of the replaced entries
	o.notes, o.rows, o.appliedUpTo = notes, rows, at
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
	if c.peers == nil {
		return nil
	}
	if at := txn.ReadTimestamp(); at <= c.peers.appliedUpTo || at >= c.peers.own {
		return nil
	}
	r, err := c.store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	before, err := c.refresh(ctx, r)
	if before != nil {
		c.peers.notifyPeerChange(before, c.current.Load())
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
	before, err := c.refresh(storage.NoLeaseWait(ctx), r)
	if before != nil {
		c.peers.notifyPeerChange(before, c.current.Load())
	}
	return err
}

// reloadTopics reloads the topics whose notes have changed, and reports whether the catalog must be
// read as well.
func (o *peerSync) reloadTopics(ctx context.Context, r storage.Reader, notes map[string]string) (changed bool, err error) {
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
	if c.peers == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers.topics[topic] = load
	delete(c.peers.notes, string(keyspace.TopicKey(topic)))
	c.peers.appliedUpTo = 0 // the next poll loads what has changed since the topic was loaded
}

// WaitAppliedByAll waits until every peer has applied all that was committed up to a time, or has lost its lease.
// Errors: those of ctx; ErrClosed.
func (c *Catalog) WaitAppliedByAll(ctx context.Context, at storage.Timestamp) error {
	return c.await(ctx, at, false)
}

// notifyPeerChange calls the function set by OnPeerChange; the caller may hold mu.
func (o *peerSync) notifyPeerChange(before, now *Snapshot) {
	if f := o.onPeerChange.Load(); f != nil {
		(*f)(before, now)
	}
}

// OnPeerChange sets the function that is called after changes of peers have been applied and before this server
// publishes that: so before the command that made the change returns to its client. It must be quick, and
// must not wait for the catalog.
func (c *Catalog) OnPeerChange(f func(before, now *Snapshot)) {
	if c.peers != nil {
		c.peers.onPeerChange.Store(&f)
	}
}

// OnLeaseLost sets the function that is called when the lease of this server has ended, before the server
// does anything under the next lease.
func (c *Catalog) OnLeaseLost(f func()) {
	if c.peers != nil {
		c.peers.onLeaseLost.Store(&f)
	}
}

// join reads the catalog for the first time, as a member of a shared store.
func (c *Catalog) join(ctx context.Context, shared storage.Shared, r storage.Reader, show release.Release) error {
	env := mql.NewEnv(context.WithoutCancel(ctx))
	env.Release, env.ServerRelease, env.JavaScript = show, show, true
	c.peers = &peerSync{store: shared, env: env, topics: map[string]func(context.Context, storage.Reader) error{}, polling: make(chan struct{}, 1)}
	c.current.Store(newSnapshot(0))
	c.mu.Lock()
	defer c.mu.Unlock()
	m, rows, err := c.read(ctx, r, r.ReadTimestamp())
	if err != nil {
		return fmt.Errorf("reading the catalog: %w", err)
	}
	c.peers.rows = rows
	c.current.Store(m.next)
	c.changed = r.ReadTimestamp() // or earlier: peers may not have applied the newest change yet, and its server may be dead
	shared.Rejoin(func(ctx context.Context, r storage.Reader) error {
		if f := c.peers.onLeaseLost.Load(); f != nil {
			(*f)()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		before, err := c.refresh(ctx, r)
		if before != nil {
			c.peers.notifyPeerChange(before, c.current.Load())
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
		coll, err := decodeCollection(c.peers.env, value)
		if err != nil {
			return err
		}
		was := now.byID.get(coll.ID)
		rows[coll.ID] = value
		if was != nil && bytes.Equal(c.peers.rows[coll.ID], value) {
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

// sharedChange holds what a change writes for the peers.
type sharedChange struct {
	rows map[keyspace.CollectionID]entryRow // of all entries
	note []byte                             // key of the note that it writes
	gone [][]byte                           // keys of notes that it has deleted
}

// prepareForPeers prepares a change to be seen by peers: it locks names and writes the note, under txnNoteKey if the
// change is part of a larger transaction. The caller holds mu.
func (m *Mutation) prepareForPeers(ctx context.Context, o *peerSync, aside bool) (sharedChange, error) {
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
			return sharedChange{}, err
		}
	}
	o.count++
	s := sharedChange{rows: maps.Clone(o.rows), note: o.noteKey(), gone: o.staleNotes}
	for id, c := range m.puts {
		s.rows[id] = entryRow(encodeCollection(c))
	}
	for id := range m.drops {
		delete(s.rows, id)
	}
	if aside {
		s.note, s.gone = o.txnNoteKey(), nil
		o.staleNotes = append(o.staleNotes, s.note)
	}
	for _, key := range s.gone {
		if err := m.txn.Delete(key); err != nil {
			return sharedChange{}, err
		}
	}
	return s, m.txn.Set(s.note, binary.BigEndian.AppendUint64(nil, o.count))
}

// recordOwnChange records that a change of this server was committed at a time. The caller holds mu.
func (o *peerSync) recordOwnChange(s sharedChange, ts storage.Timestamp) {
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
	o.staleNotes = o.staleNotes[len(s.gone):]
}

// Follow applies changes of peers and publishes up to which time it has, until ctx ends. It
// returns at once if this server has the store alone.
func (c *Catalog) Follow(ctx context.Context) {
	if c.peers == nil {
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
	o := c.peers
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
	before, err := c.refresh(storage.NoLeaseWait(ctx), r)
	now := c.current.Load()
	c.mu.Unlock()
	if err != nil && !errors.Is(err, storage.ErrConflict) { // after a conflict the next poll applies the rest
		return false, err
	}
	if before != nil {
		o.notifyPeerChange(before, now)
	}
	asked := storage.Timestamp(0)
	for _, m := range list {
		if m.ID != o.store.Member() {
			t := decodeHeartbeat(m.Message)
			asked, at = max(asked, t.awaited), min(at, t.applied)
		}
	}
	o.setAppliedByAll(at)
	c.mu.Lock()
	if before != nil {
		o.awaited = max(o.awaited, o.appliedUpTo) // writers will wait for that; see applied_by_all.go
	}
	t := c.currentHeartbeat()
	late := o.told.applied < asked && t.applied >= asked || o.told.drained < asked && t.drained > o.told.drained
	news = before != nil || o.told.drained < asked
	c.mu.Unlock()
	if late || before != nil {
		return news, c.publishHeartbeat(ctx)
	}
	return news, nil
}

// currentHeartbeat computes the heartbeat that can be published now. The caller holds mu.
func (c *Catalog) currentHeartbeat() heartbeat {
	t := heartbeat{awaited: c.peers.awaited, applied: c.peers.appliedUpTo, drained: c.peers.appliedUpTo}
	for _, list := range c.retired {
		for _, p := range list {
			if !p.isReleased() {
				t.drained = min(t.drained, max(p.replaced, 1)-1) // drained is 0 while the outcome of a change is undetermined
			}
		}
	}
	return t
}

// publishHeartbeat publishes the heartbeat to the peers.
func (c *Catalog) publishHeartbeat(ctx context.Context) error {
	c.peers.publishing.Lock()
	defer c.peers.publishing.Unlock()
	c.mu.Lock()
	t := c.currentHeartbeat()
	c.mu.Unlock()
	if err := c.peers.store.Publish(ctx, t.encode()); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers.told.applied = max(c.peers.told.applied, t.applied)
	c.peers.told.drained = max(c.peers.told.drained, t.drained)
	return nil
}

// await waits until every peer has applied all changes up to a time or has lost its lease. With drained it
// also waits until no user of older entries is left there. Errors: those of ctx; ErrClosed.
func (c *Catalog) await(ctx context.Context, at storage.Timestamp, drained bool) error {
	o := c.peers
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
		case err == nil && !o.anyBehind(list, at, drained):
			o.setAppliedByAll(at)
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
	c.peers.awaited = max(c.peers.awaited, at)
	c.mu.Unlock()
	return c.publishHeartbeat(ctx)
}

// anyBehind reports whether some peer has not applied the changes up to a time or, with drained, still has users
// of older entries.
func (o *peerSync) anyBehind(list []storage.Member, at storage.Timestamp, drained bool) bool {
	for _, m := range list {
		t := decodeHeartbeat(m.Message)
		if m.ID != o.store.Member() && (t.applied < at || drained && t.drained < at) {
			return true
		}
	}
	return false
}
