package balance

import (
	"bytes"
	"context"
	"errors"

	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/jobs"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// scanDocs is the number of documents up to which a split point is found by counting; for more, the engine's
// estimates of sizes are used if the shard key is only hashed.
const scanDocs = 200_000

// SplitPoint returns the first position of the right half of a shard: by documents or, under a key that is only hashed,
// by bytes for more than scanDocs documents and by hashes for fewer than two. ok is false if no split helps: all
// documents have one position, or there is no document and no split by hashes.
func SplitPoint(ctx context.Context, r *jobs.Runner, c *catalog.Collection, d *shard.Descriptor) (at shard.Position, ok bool, err error) {
	docs := r.Tally.Of(c.ID).Shard(d.ID).Get().Docs
	if h, ok := d.Middle(); docs < 2 && ok && c.Key.TailParts() == 0 {
		return shard.HashPosition(h), true, nil
	}
	snap, err := r.Store.Snapshot(ctx, 0)
	if err != nil {
		return nil, false, err
	}
	defer snap.Close()
	s := halving{ctx, r.Store, snap, c}
	within := d.Range
	if docs > scanDocs && c.Key.TailParts() == 0 {
		if within, err = s.halve(d); err != nil {
			return nil, false, err
		}
		docs = 0
	}
	return s.middle(d, within, docs/2)
}

// halving holds the state of the search for one split point.
type halving struct {
	ctx   context.Context
	store storage.Store
	snap  storage.Reader
	coll  *catalog.Collection
}

// middle returns the position of the document with index after in a range within the shard d. If there is
// none, or it has the first position of the shard, at which no split is possible, it returns the next position with a
// document; ok is false if there is none.
func (s *halving) middle(d *shard.Descriptor, within shard.Range, after int64) (at shard.Position, ok bool, err error) {
	first, ok, err := s.positionAt(d.Range, 0)
	if !ok || err != nil {
		return nil, false, err
	}
	if at, ok, err = s.positionAt(within, after); err != nil {
		return nil, false, err
	}
	if ok && !bytes.Equal(at, first) {
		return at, true, nil
	}
	rest := shard.Range{Lo: s.coll.Key.Next(first), Hi: d.Hi}
	if rest.Lo == nil || rest.IsEmpty() {
		return nil, false, nil
	}
	return s.positionAt(rest, 0)
}

// positionAt returns the position of the document with index n in a range, or of its last document if there are
// fewer; ok is false if there is none.
func (s *halving) positionAt(r shard.Range, n int64) (at shard.Position, ok bool, err error) {
	o := storage.IterOptions{KeysOnly: true}
	if n == 0 {
		o.FetchRows = 1
	}
	it, err := s.snap.Iter(s.ctx, keyspace.RecordSpan(s.coll.ID, r.Lo, r.Hi), o)
	if err != nil {
		return nil, false, err
	}
	defer it.Close()
	var key []byte
	for i := int64(0); i <= n && it.Next(); i++ {
		key = append(key[:0], it.Key()...)
		if i&1023 == 1023 && s.ctx.Err() != nil {
			return nil, false, context.Cause(s.ctx)
		}
	}
	if err := it.Err(); err != nil || key == nil {
		return nil, false, err
	}
	_, h, id, ok := keyspace.SplitRecord(key)
	if !ok {
		return nil, false, errors.Join(storage.ErrCorruption, errors.New(keyspace.Pretty(key)))
	}
	at = shard.HashPosition(h)
	for range s.coll.Key.TailParts() {
		n, err := keystring.Skip(id, keystring.Ascending)
		if err != nil {
			return nil, false, errors.Join(storage.ErrCorruption, err)
		}
		at, id = append(at, id[:n]...), id[n:]
	}
	return at, true, nil
}

// halve searches, by the engine's estimates of sizes, the hash below which half of the bytes of a shard are, and
// returns the range that begins there.
func (s *halving) halve(d *shard.Descriptor) (r shard.Range, err error) {
	lo, hi := d.Hashes()
	total, err := s.store.ApproximateBytes(s.ctx, keyspace.RecordHashRange(s.coll.ID, lo, hi))
	if err != nil {
		return r, err
	}
	a, b := lo, hi
	for range 24 {
		mid := a + (b-a)/2
		left, err := s.store.ApproximateBytes(s.ctx, keyspace.RecordHashRange(s.coll.ID, lo, mid))
		if err != nil {
			return r, err
		}
		if left < total/2 {
			a = mid
		} else {
			b = mid
		}
		if b-a < 2 {
			break
		}
	}
	return shard.Range{Lo: shard.HashPosition(b), Hi: d.Hi}, nil
}
