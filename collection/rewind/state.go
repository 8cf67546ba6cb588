package rewind

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/writebuf"
)

// State represents the store at a time in the past. Safe for concurrent use.
type State struct {
	at    storage.Timestamp
	base  storage.Reader
	store storage.Store
	// building is held while the layer of a collection is made. It is a channel instead of a mutex, so that commands
	// that wait for it can be interrupted.
	building chan struct{}
	held     holding // for the finished layers and the one being made
	// layers is replaced, never changed.
	layers atomic.Pointer[map[keyspace.CollectionID]*writebuf.Buffer]
}

// Open returns the state of the store at the past time at, to be made from the newest state. It waits until the
// newest state is durable, because the log contains only durable records. The state must have been the newest one at
// the time since or later. If nothing was written for an hour, a time an hour ago counts as recent.
// Errors: ErrSnapshotTooOld, also if the log does not reach back that far.
func Open(ctx context.Context, store storage.Store, at, since storage.Timestamp, memory *ratelimit.Memory) (*State, error) {
	base, err := store.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	s := &State{at: at, base: base, store: store, building: make(chan struct{}, 1), held: holding{of: memory}}
	s.layers.Store(&map[keyspace.CollectionID]*writebuf.Buffer{})
	err = store.Sync(ctx)
	if err == nil && at < since {
		err = s.lasted(ctx, since)
	}
	if err == nil {
		err = s.readBack(ctx, func(storage.Timestamp, []byte) bool { return false })
	}
	if err != nil {
		base.Close()
		return nil, err
	}
	return s, nil
}

// lasted returns ErrSnapshotTooOld for a state that was followed by a newer one before the time since, or that is
// before the first record of the log.
func (s *State) lasted(ctx context.Context, since storage.Timestamp) error {
	over, begun := storage.Timestamp(0), false
	_, err := s.store.ReadLog(ctx, changelog.Stream, s.at, func(ts, _ storage.Timestamp, _ []byte) bool {
		over = ts
		return false
	})
	if err == nil {
		err = s.store.ReadLogBack(ctx, changelog.Stream, s.at, 0, func(storage.Timestamp, []byte) bool {
			begun = true
			return false
		})
	}
	if err == nil && (!begun || over != 0 && over < since) || errors.Is(err, storage.ErrLogTruncated) {
		return storage.ErrSnapshotTooOld
	}
	return err
}

// At returns the time of the state.
func (s *State) At() storage.Timestamp { return s.at }

// Base returns the time of the snapshot over which the layers of the state lie: a read uses shards and indexes as
// they were then.
func (s *State) Base() storage.Timestamp { return s.base.ReadTimestamp() }

// Bytes returns the memory of the layers.
func (s *State) Bytes() int64 { return s.held.bytes.Load() }

// Close releases the snapshot and the memory of the layers. All readers of the state must be closed before.
func (s *State) Close() {
	s.base.Close()
	s.held.shrink(0)
}

// Load makes the layer of a collection, unless there is one, so that the collection can be read. coll is its catalog
// entry as of Base or later, with no change of shards or indexes since. Errors: ErrSnapshotTooOld if the log has been
// truncated meanwhile, or was written by a version without undo records; ErrTooMuch; ErrMultikey and the errors of
// index keys, if an index made later cannot hold the old documents; the reason why the command must end.
func (s *State) Load(env *mql.Env, coll *catalog.Collection) error {
	for {
		if s.layer(coll.ID) != nil {
			return nil
		}
		env.ReleaseSlot()
		select {
		case s.building <- struct{}{}:
		case <-env.Context().Done():
			return env.Interrupted()
		}
		if s.layer(coll.ID) == nil {
			break
		}
		<-s.building
	}
	defer func() { <-s.building }()
	before := s.layersBytes()
	layer, err := s.build(env, coll, before)
	if err != nil {
		s.held.shrink(before)
		return err
	}
	layers := maps.Clone(*s.layers.Load())
	layers[coll.ID] = layer
	s.layers.Store(&layers)
	s.held.shrink(s.layersBytes())
	return nil
}

// layersBytes returns the memory of the finished layers.
func (s *State) layersBytes() (n int64) {
	for _, layer := range *s.layers.Load() {
		n += layerBytes(layer)
	}
	return n
}

// layer returns the layer of a collection, nil for none.
func (s *State) layer(id keyspace.CollectionID) *writebuf.Buffer { return (*s.layers.Load())[id] }

// readBack is ReadLogBack over the records that the state reverts.
func (s *State) readBack(ctx context.Context, yield func(ts storage.Timestamp, rec []byte) bool) error {
	err := s.store.ReadLogBack(ctx, changelog.Stream, s.Base(), s.at, yield)
	if errors.Is(err, storage.ErrLogTruncated) {
		return storage.ErrSnapshotTooOld
	}
	return err
}
