package jobs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Recover sets the counts of all shards after a start, before the first write: from the last checkpoint and
// the change log after it. Shards that are in neither, or all shards if the log was truncated, are counted by
// a scan.
func (r *Runner) Recover(ctx context.Context) error {
	if err := r.Store.Sync(ctx); err != nil {
		return err
	}
	if r.ReadOnly || !r.exclusive() { // peers write documents that this server does not count
		r.Tally.MarkInDoubt()
	}
	if err := r.deleteCappedStates(ctx); err != nil {
		return err
	}
	c := &r.counts
	c.pass.Lock()
	defer c.pass.Unlock()
	snap, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer snap.Close()
	if err := r.loadCounts(ctx, snap); r.fails(err) {
		return fmt.Errorf("reading counts: %w", err)
	}
	colls := r.Catalog.Peek()
	next := r.Store.Durable()
	if c.at > 0 {
		next, err = r.follow(ctx, c.at, func(ts storage.Timestamp, rec *changelog.Record, size int) {
			c.counted(colls, ts, rec, 0).count()
			c.log.add(ts, size)
		})
		if errors.Is(err, storage.ErrLogTruncated) {
			c.log = logLength{since: r.Store.Durable()}
			c.colls, next, err = map[keyspace.CollectionID]*counted{}, r.Store.Durable(), nil
		}
		if r.fails(err) {
			return fmt.Errorf("reading the change log: %w", err)
		}
	}
	if c.at == 0 {
		c.log = logLength{since: next}
	}
	c.at = next
	for _, coll := range colls.Collections("") {
		if coll.IsView() {
			continue
		}
		k := c.colls[coll.ID]
		if k == nil || k.epoch != coll.Map.Version().Epoch {
			k = &counted{epoch: coll.Map.Version().Epoch, shards: map[shard.ID]*countedShard{}}
			c.colls[coll.ID] = k
		}
		for _, d := range coll.Map.Shards() {
			if k.shards[d.ID] == nil {
				n, err := scanCount(ctx, snap, coll.ID, d)
				if r.fails(err) {
					return fmt.Errorf("counting %s: %w", coll.Namespace, err)
				}
				k.shards[d.ID] = &countedShard{Count: n}
				k.changed = true
			}
			r.Tally.Of(coll.ID).Shard(d.ID).Set(k.shards[d.ID].Count)
		}
	}
	return nil
}

// deleteCappedStates deletes the rows in which servers shared the state of capped collections, if this process has
// the store exclusively now: it keeps that state in memory.
func (r *Runner) deleteCappedStates(ctx context.Context) error {
	if _, remote := r.Store.(storage.Remote); !remote || r.ReadOnly || !r.exclusive() {
		return nil
	}
	t, err := r.Store.Begin(ctx, storage.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Close()
	it, err := t.Iter(ctx, write.CappedStateKeys(), storage.IterOptions{KeysOnly: true})
	if err != nil {
		return err
	}
	var keys [][]byte
	for it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
	}
	err = it.Err()
	it.Close()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := t.Delete(key); err != nil {
			return err
		}
	}
	_, err = t.Commit(ctx, storage.Synced)
	return err
}

// fails reports whether an error in reading the counts ends the start of the server. If damaged data are served,
// damage does not: the counts are then those of the readable documents.
func (r *Runner) fails(err error) bool {
	return err != nil && !(r.ReadOnly && errors.Is(err, storage.ErrCorruption))
}

// loadCounts reads the stored checkpoint.
func (r *Runner) loadCounts(ctx context.Context, snap storage.Reader) error {
	c := &r.counts
	c.at, c.colls = 0, map[keyspace.CollectionID]*counted{} // drops the result of an earlier, failed attempt too
	at, err := snap.Get(ctx, countsAtKey(), nil)
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(at) == 8 {
		c.at = storage.Timestamp(binary.BigEndian.Uint64(at))
	}
	if c.log, err = loadLogLength(ctx, snap, c.at); err != nil {
		return err
	}
	it, err := snap.Iter(ctx, keyspace.MetaPrefixRange(keyspace.MetaCounter, []byte(countsPrefix)), storage.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		var id keyspace.CollectionID
		_, name, _ := keyspace.SplitMeta(it.Key())
		if _, err := fmt.Sscanf(string(name), countsPrefix+"%d", &id); err != nil {
			return err
		}
		if c.colls[id], err = decodeCounted(it.Value()); err != nil {
			return err
		}
	}
	return it.Err()
}
