package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

// Opener gives stages access to other collections and to the server, at the command's snapshot. Several
// goroutines may call its methods, each with its own Env.
type Opener interface {
	// Open returns an operator that runs p over a whole collection or view, sharded or not, for $lookup,
	// $graphLookup, $unionWith and the fusion stages. A namespace that does not exist is empty. p is not optimised or
	// divided yet.
	Open(env *mql.Env, ns collection.Namespace, p *Pipeline) (exec.Operator, error)
	// Survey returns how Open would read for p, which begins with an equality at the path by. It reads nothing.
	Survey(env *mql.Env, ns collection.Namespace, p *Pipeline, by string) (Access, error)
	// Explains reports whether the command only shows how it runs, so that stages collect what explain prints.
	Explains() bool
	// Sink takes the documents of $out and $merge.
	Sink(env *mql.Env, ns collection.Namespace, spec *SinkSpec) (Sink, error)
	// Changes returns an operator that delivers the events of $changeStream on a namespace.
	Changes(env *mql.Env, ns collection.Namespace, spec bson.Raw) (exec.Operator, error)
	// Info returns an operator that delivers the rows of a stage about the server itself. kind is the stage's
	// name ($collStats, $indexStats, $currentOp, …), spec its argument.
	Info(env *mql.Env, ns collection.Namespace, kind string, spec bson.Raw) (exec.Operator, error)
}

// Access describes how an equality is read from a collection.
type Access struct {
	// Indexed reports that an index or the place of the records finds the documents, without a scan of all.
	Indexed bool
	// Direct reports that an index finds the documents in the order of the pipeline's leading $sort, so that the first
	// of them are found without reading the others.
	Direct bool
}

// Sink receives the documents that a $out or $merge writes. If a sink is closed before Finish, $out leaves the old
// collection unchanged; what $merge has written stays.
type Sink interface {
	// Write writes a batch. The documents are valid only during the call.
	Write(env *mql.Env, docs []bson.Raw) error
	// Finish makes the result visible: $out swaps the collection.
	Finish(env *mql.Env) error
	// Close releases the sink; after Finish it does nothing.
	Close()
}
