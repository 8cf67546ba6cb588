package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// Runs holds sorted runs of documents with sort keys in a temporary file without a name. Blocking operators
// outside of this package, such as $group, spill to it. Rows with equal keys are returned in the order of their
// runs.
type Runs struct {
	set   *runSet
	count int64
}

// NewRuns opens the temporary file.
//
// Errors: QueryExceededMemoryLimitNoDiskUseAllowed if the command may not spill; the message contains what, the
// name of the operator.
func NewRuns(env *mql.Env, what string) (*Runs, error) {
	if !env.Memory.CanSpill() {
		return nil, env.Memory.ExceededError(what)
	}
	set, err := newRunSet(env.Memory.SpillDir)
	if err != nil {
		return nil, err
	}
	return &Runs{set: set}, nil
}

// Begin starts a run. The rows of a run are written in the order of their keys.
func (r *Runs) Begin() { r.set.begin() }

// Write appends a row to the last run; meta is nil for none.
func (r *Runs) Write(key []byte, doc, meta bson.Raw) error {
	r.count++
	return r.set.write(&sortRow{key: key, doc: doc, meta: meta, seq: r.count})
}

// Count returns the number of runs.
func (r *Runs) Count() int { return r.set.count() }

// Bytes returns the number of bytes written.
func (r *Runs) Bytes() int64 { return r.set.size }

// Start ends writing and begins reading.
func (r *Runs) Start(env *mql.Env) error {
	if err := r.set.w.Flush(); err != nil {
		return err
	}
	return r.set.start(env)
}

// Next returns the next row of all runs in key order; at the end, doc is nil. The slices are valid until the
// next call.
func (r *Runs) Next() (key []byte, doc, meta bson.Raw, err error) {
	row, err := r.set.next()
	if row == nil || err != nil {
		return nil, nil, nil, err
	}
	return row.key, row.doc, row.meta, nil
}

// Close removes the file.
func (r *Runs) Close() { r.set.close() }
