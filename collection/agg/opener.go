package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

// Opener gives stages access to what lies outside of the pipeline, at the
// command's snapshot. Its methods may be called from several goroutines, each
// with its own Env.
type Opener interface {
	// Open runs p over a whole collection or view, sharded or not; a namespace
	// that does not exist is empty. p is neither optimised nor divided.
	// $lookup, $graphLookup, $unionWith.
	Open(env *mql.Env, ns collection.Namespace, p *Pipeline) (exec.Operator, error)
	// Sink takes the documents of $out and $merge.
	Sink(env *mql.Env, ns collection.Namespace, spec *SinkSpec) (Sink, error)
	// Changes delivers the events of $changeStream.
	Changes(env *mql.Env, ns collection.Namespace, spec bson.Raw) (exec.Operator, error)
	// Info delivers the rows of a stage about the server itself: kind is the
	// stage's name ($collStats, $indexStats, $currentOp, …), spec its argument.
	Info(env *mql.Env, ns collection.Namespace, kind string, spec bson.Raw) (exec.Operator, error)
}

// Sink takes documents. A sink that was not finished is closed without effect
// as far as its kind allows.
type Sink interface {
	// Write takes a batch; the documents are valid only during the call.
	Write(env *mql.Env, docs []bson.Raw) error
	// Finish makes the result visible: $out swaps the collection.
	Finish(env *mql.Env) error
	// Close releases the sink; after Finish it does nothing.
	Close()
}
