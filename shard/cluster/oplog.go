package cluster

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

// OplogNamespace is the change log as a collection that nobody stores.
var OplogNamespace = collection.Namespace{DB: "local", Coll: "oplog.rs"}

// oplogOp delivers the entries of the change log. Its end is not final: when
// more have come, the next call delivers them.
type oplogOp struct {
	c   *Cluster
	log *changestream.Oplog // nil before the first row
	row exec.Row
}

// Next see exec.Operator.
func (x *oplogOp) Next(env *mql.Env) (*exec.Row, error) {
	if x.log == nil {
		log, err := changestream.OpenOplog(env, x.c.changeSource())
		if err != nil {
			return nil, err
		}
		x.log = log
	}
	doc, err := x.log.Next(env)
	if doc == nil || err != nil {
		return nil, err
	}
	x.row = exec.Row{Doc: doc}
	return &x.row, nil
}

// Explain see exec.Operator.
func (x *oplogOp) Explain(b *bson.Builder, _ bool) { b.String("stage", "COLLSCAN") }

// Close see exec.Operator.
func (x *oplogOp) Close() {}

// WaitOplog waits until the change log has grown since the stream, opened on
// OplogNamespace, came to its end.
// Errors: what ended ctx; storage.ErrClosed.
func (s *Stream) WaitOplog(ctx context.Context) error {
	if s.oplog == nil || s.oplog.log == nil {
		return nil
	}
	return s.oplog.log.Wait(ctx)
}
