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

// others are the other processes over one store. Each has a catalog, and they follow each other. A change is
// made over what is in the store at the change's own snapshot, and locks the names that it
// gives or takes, so that of two that cannot both be one conflicts. With it the process notes that
// it has changed something, under a key of its own, so that changes of different collections do not
// conflict. Every process looks at these notes all the time, takes over what is new, and tells up
// to when it has done so. A change is done when all others have told so or their lease is over:
// without a lease a process neither reads nor writes, and it takes over what is new before it
// has another one. So what a change relied upon is true everywhere when it returns.
type others struct {
	store storage.Shared
	env   *mql.Env
	// followed, if not nil, is called after what others did was taken over.
	followed atomic.Pointer[func(before, now *Snapshot)]
	// lapsed, if not nil, is called when the lease of this process was over.
	lapsed atomic.Pointer[func()]

	// Guarded by mu of the Catalog.
	asOf  storage.Timestamp                  // everything committed up to then is in the current snapshot
	own   storage.Timestamp                  // and so is the newest change of this process, which was at or before own
	notes map[string]string                  // the notes that are in it, by who wrote them
	count uint64                             // of attempts to write own notes: none has the value of another one
	aside [][]byte                           // keys of own notes that the next change takes away; see noteAside
	rows  map[keyspace.CollectionID]entryRow // stored entries that are in it
	wants storage.Timestamp                  // what the others are asked to tell of
	told  tidings                            // what was told last
	// topics are called when what they are about was changed by others; see OnTopic.
	topics map[string]func(ctx context.Context, r storage.Reader) error

	everywhere atomic.Uint64 // what was changed up to then all others go by; see spread.go
	spreading  chan struct{} // held by the one writer that asks them

	telling sync.Mutex // so that no tidings are replaced by older ones; taken before mu
}

// entryRow is an entry as it is stored.
type entryRow []byte

// tidings are what a process tells the others.
type tidings struct {
	wants   storage.Timestamp // it waits for changes up to then
	applied storage.Timestamp // its catalog has all changes up to then
	drained storage.Timestamp // nobody there goes by entries that were replaced up to then
}

func (t tidings) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(t.wants))
	b = binary.BigEndian.AppendUint64(b, uint64(t.applied))
	return binary.BigEndian.AppendUint64(b, uint64(t.drained))
}

// tidingsOf reads what a process tells; one that has just come tells nothing.
func tidingsOf(message []byte) (t tidings) {
	if len(message) >= 24 {
		t.wants = storage.Timestamp(binary.BigEndian.Uint64(message))
		t.applied = storage.Timestamp(binary.BigEndian.Uint64(message[8:]))
		t.drained = storage.Timestamp(binary.BigEndian.Uint64(message[16:]))
	}
	return t
}

const (
	// followEvery is how often a process looks for what others have changed; each look is three
	// requests to the store.
	followEvery = 20 * time.Millisecond
	// followQuiet is how often after quietAfter looks that found nothing new: the first change that
	// comes then waits so much longer for the others, the next ones do not.
	followQuiet = 200 * time.Millisecond
	quietAfter  = 100
	// awaitEvery is how often one that waits for the others looks what they tell.
	awaitEvery = 5 * time.Millisecond
)

// notePrefix begins the names of the notes of processes; those of topics lie beside them.
const notePrefix = keyspace.ChangePrefix + "by."

// noteKey is the key of the own note.
func (o *others) noteKey() []byte {
	id := o.store.Member()
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, append([]byte(notePrefix), id[:]...))
}

// noteAside is the key of a note of a change that is part of a larger transaction, which may have
// begun before the newest change of this process: so it cannot write the one note that all others
// write. The next change takes it away.
func (o *others) noteAside() []byte { return binary.BigEndian.AppendUint64(o.noteKey(), o.count) }

// nameKey is locked by whoever gives or takes the name of a collection, or makes a database:
// those of databases are one if they differ only in case.
func nameKey(ns collection.Namespace) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, []byte("name."+ns.String()))
}

func databaseNameKey(name string) []byte {
	return keyspace.AppendMeta(nil, keyspace.MetaVersion, []byte("database."+strings.ToLower(name)))
}

// refresh takes over what others have changed up to the snapshot of a reader. The caller holds
// mu. It reports what was replaced, nil if there was nothing new. A reader from before the newest
// change of this process would undo that here: a frozen collection would have writers again for
// whom no drain waits. Errors: ErrConflict for such a one; those of the store.
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
	since := o.asOf + 1 // the changes were made then or later: whoever waits for one waits for who goes by what it replaced
	o.notes, o.rows, o.asOf = notes, rows, at
	before = c.current.Swap(m.next)
	c.memory.Force(m.next.heldAll - before.heldAll)
	close(before.replaced)
	c.changed = at
	c.retire(before, m, since)
	return before, nil
}

// catchUp takes over what others have changed up to the newest change of this process, if a
// transaction began before that, such as the one that gave a number to a collection that the
// transaction makes. Its own snapshot cannot be taken over then. The caller holds mu.
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

// look takes over what others have changed by now. Errors: those of refresh.
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

// reload has the topics loaded again whose notes are others now, and reports whether the
// catalog is to be read as well.
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

// OnTopic sets what is called, with a state that has them, when other processes have made
// changes of a topic: what else a process keeps in memory. It must not change the catalog.
func (c *Catalog) OnTopic(topic string, load func(ctx context.Context, r storage.Reader) error) {
	if c.others == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others.topics[topic] = load
	delete(c.others.notes, string(keyspace.TopicKey(topic)))
	c.others.asOf = 0 // what was changed since it was loaded is loaded now
}

// Everywhere waits until all other processes have taken over what was committed up to a time,
// or may do nothing any more. Errors: those of ctx; ErrClosed.
func (c *Catalog) Everywhere(ctx context.Context, at storage.Timestamp) error {
	return c.await(ctx, at, false)
}

// tellFollowed calls what OnFollowed was given; the caller may hold mu.
func (o *others) tellFollowed(before, now *Snapshot) {
	if f := o.followed.Load(); f != nil {
		(*f)(before, now)
	}
}

// OnFollowed sets what is called after changes of other processes were taken over, and before they
// are told so: before a command that has changed something returns to its client. It must be quick, and
// wait for nothing of the catalog.
func (c *Catalog) OnFollowed(f func(before, now *Snapshot)) {
	if c.others != nil {
		c.others.followed.Store(&f)
	}
}

// OnLapse sets what is called when the lease of this process with the store was over, before it
// does anything under the next one.
func (c *Catalog) OnLapse(f func()) {
	if c.others != nil {
		c.others.lapsed.Store(&f)
	}
}

// join reads the catalog for the first time, as one of several processes.
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
	c.changed = r.ReadTimestamp() // or before: others may not have taken over the newest change yet, whose process may be dead
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

// read makes a snapshot of what a reader finds. Entries that are stored as they were before are
// the same ones, and so are the parts of others that are the same: writers compare them.
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
		if m.next.databases.get(coll.Namespace.DB) == nil { // dropped while a collection was made in it
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

// inherit makes the parts of an entry that are as they were those of the entry before, which may
// be nil, and notes since when readers can go by it.
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

// sharing is what a change leaves for others.
type sharing struct {
	rows map[keyspace.CollectionID]entryRow // of all entries
	note []byte                             // key of the note
	gone [][]byte                           // keys of notes that it has taken away
}

// share makes a change one that others see: it locks names and writes the note, aside if the
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

// shared notes that a change of this process was committed at a time. The caller holds mu.
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

// Follow takes over what other processes change, and tells them so, until ctx ends. It
// returns at once if there are no others.
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

// follow looks once at what others have changed and ask for, and reports whether there was
// anything.
func (c *Catalog) follow(ctx context.Context) (news bool, err error) {
	o := c.others
	at, list, err := o.store.Members(ctx)
	if err != nil {
		return false, err
	}
	r, err := o.store.Snapshot(ctx, at) // which is not before what any of them waits for
	if err != nil {
		return false, err
	}
	defer r.Close()
	c.mu.Lock()
	before, err := c.refresh(storage.AtOnce(ctx), r)
	now := c.current.Load()
	c.mu.Unlock()
	if err != nil && !errors.Is(err, storage.ErrConflict) { // a change has come between: the next look takes over the rest
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

// tidings are what can be told now. The caller holds mu.
func (c *Catalog) tidings() tidings {
	t := tidings{wants: c.others.wants, applied: c.others.asOf, drained: c.others.asOf}
	for _, list := range c.old {
		for _, p := range list {
			if !p.over() {
				t.drained = min(t.drained, max(p.replaced, 1)-1) // 0 while a change is unsure
			}
		}
	}
	return t
}

// tell tells the others.
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

// await waits until every other process goes by a catalog that has all changes up to a time,
// and with drained until nobody there goes by an older one, or until its lease is over.
// Errors: those of ctx; ErrClosed.
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

// want asks the others to tell when they have a change.
func (c *Catalog) want(ctx context.Context, at storage.Timestamp) error {
	c.mu.Lock()
	c.others.wants = max(c.others.wants, at)
	c.mu.Unlock()
	return c.tell(ctx)
}

// behind reports that a member other than this process has not told enough.
func (o *others) behind(list []storage.Member, at storage.Timestamp, drained bool) bool {
	for _, m := range list {
		t := tidingsOf(m.Message)
		if m.ID != o.store.Member() && (t.applied < at || drained && t.drained < at) {
			return true
		}
	}
	return false
}
