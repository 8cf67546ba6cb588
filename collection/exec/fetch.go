package exec

import (
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// fetch reads the record of each row that comes without one.
type fetch struct {
	Counters
	node    *plan.Fetch
	src     Source
	in      Operator
	key     []byte
	buf     []byte
	row     Row
	scratch expr.Scratch
}

func (f *fetch) Next(env *mql.Env) (*Row, error) {
	for {
		r, err := f.in.Next(env)
		if r == nil || err != nil {
			f.Done = err == nil
			return nil, err
		}
		f.Works++
		f.row = *r
		f.key = keyspace.AppendRecord(f.key[:0], f.src.Coll.ID, r.Hash, r.ID)
		f.buf, err = f.src.Reader.Get(env.Context(), f.key, f.buf[:0])
		if errors.Is(err, storage.ErrNotFound) {
			continue // never at one snapshot; validate reports it
		}
		if err != nil {
			return nil, err
		}
		f.DocsExamined++
		env.Meter.Add(r.Shard, ratelimit.DocLoaded, 1)
		f.row.Doc = bson.Raw(f.buf)
		if f.node.Filter != nil {
			f.scratch.Reset()
			ok, err := f.node.Filter.Matches(env, f.row.Doc, &f.scratch)
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

func (f *fetch) Explain(b *bson.Builder, stats bool) {
	explainStage(b, f.node, &f.Counters, stats, f.in)
}
func (f *fetch) Close() { f.in.Close() }
