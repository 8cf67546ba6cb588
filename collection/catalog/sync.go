package catalog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection/mql"
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
//
// A server that has the store exclusively has always applied everything, and no peer is behind it. Its changes
// write no notes and lock no names.
type peerSync struct {
	members   storage.Membership
	exclusive bool
	env       *mql.Env
	// onPeerChange, if not nil, is called after changes of peers have been applied.
	onPeerChange atomic.Pointer[func(before, now *Snapshot)]
	// onLeaseLost, if not nil, is called when this server rejoins after its lease has ended.
	onLeaseLost atomic.Pointer[func()]

	// Guarded by mu of the Catalog.
	appliedUpTo   storage.Timestamp                  // everything committed up to then is in the current snapshot
	lastOwnChange storage.Timestamp                  // at or after the newest change of this server; the current snapshot includes it too
	notes         map[string]string                  // the notes that the current snapshot includes: values by key
	noteCount     uint64                             // number of attempts to write own notes, and value of the newest: no two are the same
	staleNotes    [][]byte                           // keys of own notes that the next change deletes; see txnNoteKey
	rows          map[keyspace.CollectionID]entryRow // stored form of the entries in the current snapshot
	awaited       storage.Timestamp                  // the time that peers are requested to apply
	lastSent      heartbeat                          // the heartbeat published last
	// topics holds a function for each topic, called when a server has changed the topic; see OnTopic.
	topics map[string]func(ctx context.Context, r storage.Reader) error

	appliedByAll atomic.Uint64 // all peers have applied the changes up to this time; see EntryAppliedByAll
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

// refresh applies the changes of peers up to the snapshot of a reader to the catalog. The caller holds mu. It returns
// the catalog snapshot that was replaced, nil if nothing but topics has changed. If the reader is older than the
// newest change of this server, applying its state would undo that change: a frozen collection would have writers
// again for which no drain waits. Errors: ErrConflict for such a reader; ErrUnavailable while the outcome of a change
// is undetermined; errors of the store and of topics.
func (c *Catalog) refresh(ctx context.Context, r storage.Reader) (before *Snapshot, err error) {
	o := c.peers
	at := r.ReadTimestamp()
	switch {
	case c.undetermined != nil:
		return nil, errCommitUndetermined
	case at <= o.appliedUpTo:
		return nil, nil
	case at < o.lastOwnChange:
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
	return c.replace(ctx, r, notes)
}

// replace reads the catalog from the state of a reader, with the notes of that state, in place of the current
// snapshot, which it returns. The caller holds mu.
func (c *Catalog) replace(ctx context.Context, r storage.Reader, notes map[string]string) (before *Snapshot, err error) {
	o, at := c.peers, r.ReadTimestamp()
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

// catchUp applies what peers have changed by now, if txn began before the newest change of this server. An example is
// a transaction that creates a collection: the change that took the collection's number is newer. The snapshot of txn
// itself is then too old to be applied. The caller holds mu.
func (c *Catalog) catchUp(ctx context.Context, txn storage.Reader) error {
	if at := txn.ReadTimestamp(); at <= c.peers.appliedUpTo || at >= c.peers.lastOwnChange {
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

// applyPeerChanges applies to the catalog what peers have changed by now. Errors: errors of refresh.
func (c *Catalog) applyPeerChanges(ctx context.Context) error {
	if c.peers.exclusive {
		return nil // this process has made all changes
	}
	return c.loadNewest(ctx, func(r storage.Reader) (*Snapshot, error) { return c.refresh(storage.NoLeaseWait(ctx), r) })
}

// Reload reads the catalog, if entries is true, and the topics, if topics is true, from the newest state of the store. A
// server whose store follows that of another server calls it after each change of them, before later writes are
// applied to the store: the other server writes no notes and does not wait for its followers.
// Errors: errors of the store and of topics.
func (c *Catalog) Reload(ctx context.Context, entries, topics bool) error {
	return c.loadNewest(ctx, func(r storage.Reader) (*Snapshot, error) {
		if topics {
			for _, load := range c.peers.topics {
				if err := load(ctx, r); err != nil {
					return nil, err
				}
			}
		}
		if !entries {
			return nil, nil
		}
		return c.replace(ctx, r, c.peers.notes)
	})
}

// loadNewest calls load with a reader of the newest state of the store, while it holds mu. If load returns a snapshot, that
// is the one which it has replaced, and the functions of OnPeerChange are called.
func (c *Catalog) loadNewest(ctx context.Context, load func(r storage.Reader) (before *Snapshot, err error)) error {
	r, err := c.store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	before, err := load(r)
	if before != nil {
		c.peers.notifyPeerChange(before, c.current.Load())
	}
	return err
}

// reloadTopics reloads the topics whose notes have changed, and reports whether the catalog must be read as well,
// because other notes have changed.
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

// OnTopic sets the function load that reloads a topic, a thing beside the catalog that servers keep in memory. load is
// called after any server has changed the topic, with a reader that has the changes; never if this server has the store
// exclusively. load must not change the catalog.
func (c *Catalog) OnTopic(topic string, load func(ctx context.Context, r storage.Reader) error) {
	if c.peers.exclusive {
		return // no peer changes the topic
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers.topics[topic] = load
	delete(c.peers.notes, string(keyspace.TopicKey(topic)))
	c.peers.appliedUpTo = 0 // the next poll loads what has changed since the topic was loaded
}

// WaitAppliedByAll waits until every peer has applied all that was committed up to a time, or has lost its lease.
// Errors: errors of ctx; ErrClosed.
func (c *Catalog) WaitAppliedByAll(ctx context.Context, at storage.Timestamp) error {
	return c.waitApplied(ctx, at, false)
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
	c.peers.onPeerChange.Store(&f)
}

// OnLeaseLost sets the function that is called when this server rejoins after its lease has ended, before it does
// anything under the next lease.
func (c *Catalog) OnLeaseLost(f func()) {
	c.peers.onLeaseLost.Store(&f)
}

// newPeerSync returns a peerSync that has not read the catalog yet.
func newPeerSync(store storage.Store, env *mql.Env) *peerSync {
	o := &peerSync{members: storage.MembershipOf(store), exclusive: storage.Exclusive(store), env: env,
		topics: map[string]func(context.Context, storage.Reader) error{}, polling: make(chan struct{}, 1)}
	if o.exclusive {
		o.appliedUpTo = math.MaxUint64
		o.setAppliedByAll(math.MaxUint64)
	}
	return o
}

// join begins to follow the peers, after Open has read the catalog for the first time, in the state at a timestamp:
// rows is the stored form of the entries. Before each later lease term of this server, the catalog applies what peers
// have changed.
func (c *Catalog) join(rows map[keyspace.CollectionID]entryRow, at storage.Timestamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers.rows = rows
	c.changed = at // an upper bound: peers may not have applied the newest change yet, and its server may be dead
	c.peers.members.Rejoin(func(ctx context.Context, r storage.Reader) error {
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
}

// Follow applies changes of peers to the catalog, and publishes in heartbeats up to which time it has applied them,
// until ctx ends or the store is closed. A server that has the store exclusively need not run it.
func (c *Catalog) Follow(ctx context.Context) {
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
	at, list, err := o.members.Members(ctx)
	if err != nil {
		return false, err
	}
	r, err := c.store.Snapshot(ctx, at) // the snapshot is not older than what any peer waits for
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
		if m.ID != o.members.Member() {
			t := decodeHeartbeat(m.Message)
			asked, at = max(asked, t.awaited), min(at, t.applied)
		}
	}
	o.setAppliedByAll(at)
	c.mu.Lock()
	if before != nil {
		o.awaited = max(o.awaited, o.appliedUpTo) // writers will wait for that; see EntryAppliedByAll
	}
	t := c.currentHeartbeat()
	late := o.lastSent.applied < asked && t.applied >= asked || o.lastSent.drained < asked && t.drained > o.lastSent.drained
	news = before != nil || o.lastSent.drained < asked
	c.mu.Unlock()
	if late || before != nil {
		return news, c.publishHeartbeat(ctx)
	}
	return news, nil
}

// currentHeartbeat computes the heartbeat of this server: what its catalog has applied, and which replaced entries
// have no users any more. The caller holds mu.
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
	if err := c.peers.members.Publish(ctx, t.encode()); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.peers.lastSent.applied = max(c.peers.lastSent.applied, t.applied)
	c.peers.lastSent.drained = max(c.peers.lastSent.drained, t.drained)
	return nil
}

// waitApplied waits until every peer has applied all changes up to a time or has lost its lease. With drained it also
// waits until no user of older entries is left at the peers. Errors: errors of ctx; ErrClosed.
func (c *Catalog) waitApplied(ctx context.Context, at storage.Timestamp, drained bool) error {
	o := c.peers
	if at == 0 {
		return nil
	}
	every := time.NewTicker(awaitEvery)
	defer every.Stop()
	for asked := false; ; {
		_, list, err := o.members.Members(ctx)
		switch {
		case errors.Is(err, storage.ErrClosed):
			return err
		case err == nil && !o.anyBehind(list, at, drained):
			o.setAppliedByAll(at)
			return nil
		case err == nil && !asked:
			asked = c.requestHeartbeats(ctx, at) == nil
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// requestHeartbeats requests, by the heartbeat of this server, that the peers publish theirs as soon as they have
// applied changes up to a time.
func (c *Catalog) requestHeartbeats(ctx context.Context, at storage.Timestamp) error {
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
		if m.ID != o.members.Member() && (t.applied < at || drained && t.drained < at) {
			return true
		}
	}
	return false
}

// A server uses a change of the catalog from the change's commit on, its peers a little later. No
// server writes by a change before all peers have applied it. Otherwise a peer that has not applied
// it, and whose transaction begins after such a write, would read that write and misinterpret it: it
// would delete a document but leave its entry in a new index, or miss an entry in a dropped index, a
// document in a partition that was split off, in a copy under another shard key, or under another
// name. With this order several servers behave like one, where a change reaches all at the same
// moment: writes that use the change have a later time than every transaction that began without it.

// EntryAppliedByAll reports whether by their heartbeats all peers use an entry or a newer one.
func (c *Catalog) EntryAppliedByAll(coll *Collection) bool {
	return coll.since <= storage.Timestamp(c.peers.appliedByAll.Load())
}

// MayHaveMissedFreeze reports whether a frozen entry may have writers that its freeze has not waited for. A
// command that freezes a collection waits for its writers, but not for those of a peer whose lease had ended:
// they may arrive with a transaction of the next lease.
func (c *Catalog) MayHaveMissedFreeze(coll *Collection) bool {
	return coll.Frozen && !storage.Exclusive(c.store)
}

// WaitEntryAppliedByAll waits until every peer uses an entry or a newer one, or has lost its lease. Errors: errors of
// ctx and of the store.
func (c *Catalog) WaitEntryAppliedByAll(ctx context.Context, coll *Collection) error {
	if c.EntryAppliedByAll(coll) {
		return nil
	}
	o := c.peers
	select {
	case o.polling <- struct{}{}:
		defer func() { <-o.polling }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	every := time.NewTicker(awaitEvery)
	defer every.Stop()
	for asked := false; !c.EntryAppliedByAll(coll); {
		_, list, err := o.members.Members(ctx)
		switch {
		case err != nil:
			return err
		case !o.anyBehind(list, coll.since, false):
			o.setAppliedByAll(coll.since)
			return nil
		case !asked:
			if err := c.requestHeartbeats(ctx, coll.since); err != nil {
				return err
			}
			asked = true
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// setAppliedByAll records that all peers have applied the changes up to a time.
func (o *peerSync) setAppliedByAll(at storage.Timestamp) {
	for old := o.appliedByAll.Load(); uint64(at) > old && !o.appliedByAll.CompareAndSwap(old, uint64(at)); {
		old = o.appliedByAll.Load()
	}
}
