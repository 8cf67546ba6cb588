package exec

import (
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// fetch reads the record of each row that has no document yet, and drops the rows that do not match its filter.
type fetch struct {
	Counters
	node   *plan.Fetch
	src    Source
	in     Operator
	key    []byte
	buf    []byte
	row    Row
	filter filter
	begun  bool            // the filter's predicates have been charged
	ahead  *readAhead      // of a fetch with node.Batch
	apart  int             // number of batches that are not read by steps: see stepsPause
	met    func(shard int) // called for each document read by a fetch after a merge; nil for others
}

func (f *fetch) Next(env *mql.Env) (*Row, error) {
	if !f.begun {
		f.begun = true
		env.Meter.Add(int(f.src.Shard.ID), ratelimit.Predicate, int64(f.node.Predicates))
	}
	if f.node.Batch {
		return f.nextOfBatch(env)
	}
	for {
		r, err := f.in.Next(env)
		if r == nil || err != nil {
			f.Done = err == nil
			return nil, err
		}
		f.Works++
		f.row = *r
		if err := f.src.Trial.spend(fetchCost); err != nil {
			return nil, err
		}
		if r.Doc == nil {
			if err := f.read(env); errors.Is(err, storage.ErrNotFound) {
				continue // never within one snapshot; validate reports it
			} else if err != nil {
				return nil, err
			}
		}
		if f.node.Filter != nil {
			if f.node.Computed {
				env.Meter.Add(r.Shard, ratelimit.ComputedTest, 1)
			}
			ok, err := f.filter.matches(env, f.node.Filter, f.row.Doc)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
		}
		f.Returned++
		return &f.row, nil
	}
}

// read reads the record of f.row.
func (f *fetch) read(env *mql.Env) (err error) {
	f.key = keyspace.AppendRecord(f.key[:0], f.src.Coll.ID, f.row.Hash, f.row.ID)
	if f.buf, err = f.src.Reader.Get(env.Context(), f.key, f.buf[:0]); err != nil {
		return err
	}
	f.DocsExamined++
	env.Meter.Loaded(f.row.Shard, len(f.buf), f.node.Predicates)
	f.row.Doc = bson.Raw(f.buf)
	return env.Row(len(f.buf))
}

func (f *fetch) Explain(b *bson.Builder, stats bool) {
	explainNode(b, f.node, &f.Counters, stats)
	if stats {
		b.Int("docsExamined", f.DocsExamined)
		b.Int32("alreadyHasObj", 0)
	}
	explainInputs(b, stats, f.in)
}

func (f *fetch) Close() {
	f.filter.close()
	f.in.Close()
	if f.ahead != nil {
		f.ahead.recycle()
		f.ahead = nil
	}
}
