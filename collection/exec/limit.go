package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
)

// limit ends after n rows.
type limit struct {
	Counters
	node *plan.Limit
	in   Operator
	left int64
}

// Limit ends an operator after n rows.
func Limit(in Operator, n int64) Operator {
	return &limit{node: &plan.Limit{N: n}, in: in, left: n}
}

func (l *limit) Next(env *mql.Env) (*Row, error) {
	if l.left <= 0 {
		l.Done = true
		return nil, nil
	}
	r, err := l.in.Next(env)
	if r == nil || err != nil {
		l.Done = err == nil
		return nil, err
	}
	l.Works++
	l.left--
	l.Returned++
	return r, nil
}

func (l *limit) Explain(b *bson.Builder, stats bool) {
	explainStage(b, l.node, &l.Counters, stats, l.in)
}
func (l *limit) Close() { l.in.Close() }

// eof delivers nothing.
type eof struct {
	Counters
	node *plan.EOF
}

func (e *eof) Next(*mql.Env) (*Row, error) { e.Done = true; return nil, nil }
func (e *eof) Explain(b *bson.Builder, stats bool) {
	explainStage(b, e.node, &e.Counters, stats)
}
func (e *eof) Close() {}

// returned charges the bytes of the rows that leave a shard.
type returned struct {
	in    Operator
	shard int          // -1: the shard of each row
	met   bool         // a row was returned
	metBy map[int]bool // the same by shard; nil unless the rows are those of several shards
}

// CountReturned returns an operator that delivers the rows of in and charges the bytes of each to its shard, and one
// result set to the shard of the first. It returns a point read unchanged, whose price includes both.
func CountReturned(in Operator) Operator { return CountReturnedAt(in, -1) }

// CountReturnedAt is CountReturned with a fixed shard to charge, for computed rows, which belong to no shard;
// -1 is the shard of each row.
func CountReturnedAt(in Operator, shard int) Operator {
	if isPointRead(in) {
		return in // the price of a point read includes the bytes
	}
	return &returned{in: in, shard: shard}
}

// CountReturnedByShard is CountReturned for the merged rows of several shards: each pays for a result set of its own.
func CountReturnedByShard(in Operator) Operator {
	return &returned{in: in, shard: -1, metBy: map[int]bool{}}
}

// isPointRead reports whether in is a point read, perhaps below operators that only transform a single
// document.
func isPointRead(in Operator) bool {
	switch o := in.(type) {
	case *pointRead:
		return true
	case *projection:
		return isPointRead(o.in)
	case *limit:
		return isPointRead(o.in)
	case *recordID:
		return isPointRead(o.in)
	}
	return false
}

func (r *returned) Next(env *mql.Env) (*Row, error) {
	row, err := r.in.Next(env)
	if row != nil {
		if err := env.Meter.CheckCapFor(ratelimit.ByteReturned, int64(len(row.Doc))); err != nil {
			return nil, err
		}
		n := r.shard
		if n < 0 {
			n = row.Shard
		}
		if r.metBy != nil {
			r.met = r.metBy[n]
			r.metBy[n] = true
		}
		if !r.met {
			r.met = true
			env.Meter.Add(n, ratelimit.ResultSet, 1)
		}
		env.Meter.Add(n, ratelimit.ByteReturned, int64(len(row.Doc)))
	}
	return row, err
}
func (r *returned) Explain(b *bson.Builder, stats bool) { r.in.Explain(b, stats) }
func (r *returned) Close()                              { r.in.Close() }
