package cluster

import (
	"context"
	"errors"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/shard/router"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Sink implements agg.Opener. The documents of $out and $merge are written as by insert and update commands, and
// charged to the budgets at once, in the class of the pipeline's command.
func (x *opener) Sink(env *mql.Env, ns collection.Namespace, spec *agg.SinkSpec) (agg.Sink, error) {
	target := x.c.catalog.Peek().Collection(ns)
	if err := checkSeriesTarget(target, spec); err != nil {
		return nil, err
	}
	if target != nil && target.IsView() {
		return nil, mongoerr.ViewNotAllowed(ns.String())
	}
	o := x.writer(env)
	if spec.Out {
		return x.c.newOutSink(x.o, o, ns, target, spec)
	}
	nullable, err := target.MergeKey(env, spec.On)
	return &mergeSink{c: x.c, command: x.o, o: o, ns: ns, spec: spec, nullable: nullable}, err
}

// Sink opens the target of documents that a command computes itself, as the
// stages $out and $merge do for the documents of a pipeline.
func (c *Cluster) Sink(o *Op, spec *agg.SinkSpec) (agg.Sink, error) {
	if err := c.checkWritable(o); err != nil {
		return nil, err
	}
	return (&opener{c: c, o: o}).Sink(o.Env, spec.NS, spec)
}

// writer returns an Op for the writes of a pipeline. It has a meter of its own, because the pipeline's reads go on
// between the writes; Credit adds its charges and commits to those of the command.
func (x *opener) writer(env *mql.Env) *Op {
	inner := *env
	return &Op{Env: &inner, Class: x.o.Class, AppName: x.o.AppName, Strong: x.o.Strong, Unmetered: x.o.Unmetered, Cap: x.o.Cap, Durability: x.o.Durability,
		Writes: x.o.Writes, User: x.o.User, BypassValidation: x.o.BypassValidation, WriteBlock: x.o.WriteBlock}
}

// Credit moves the charges and commits of an op that has written for this command into those of the command: its
// request charge, its operationTime, its wait for request units, and what WaitDurable waits for.
func (o *Op) Credit(writer *Op) {
	o.Receipt.Merge(&writer.Receipt)
	writer.Receipt.Reset(0, nil)
	o.Committed = max(o.Committed, writer.Committed)
	o.needsSync = o.needsSync || writer.needsSync
	o.Waited += writer.Waited
	writer.Waited, writer.needsSync = 0, false
}

// outSink is the target of $out: it fills a temporary collection, and puts that in the place of the target collection
// at the end. Manual: reference/operator/aggregation/out.
type outSink struct {
	c       *Cluster
	command *Op
	o       *Op // writes for the command
	ns      collection.Namespace
	temp    collection.Namespace
	done    bool
}

func (c *Cluster) newOutSink(command, o *Op, ns collection.Namespace, target *catalog.Collection, spec *agg.SinkSpec) (agg.Sink, error) {
	if target != nil {
		switch {
		case target.Sharded():
			return nil, mongoerr.New(28769, "%s cannot be sharded so it can't be used as an output collection for $out", ns)
		case target.Options.Capped:
			return nil, mongoerr.New(17152, "namespace '%s' is capped so it can't be used for $out", ns)
		}
	}
	var options bson.Raw
	var indexes []bson.Raw
	if target != nil {
		options = target.Options.Raw
		for _, ix := range target.UnstagedIndexes()[1:] { // _id is created implicitly
			indexes = append(indexes, ix.Raw())
		}
	} else if spec.TimeSeries != nil {
		b := bson.NewBuilder(nil)
		b.Raw("timeseries", spec.TimeSeries)
		options = b.Doc()
	}
	temp, err := c.definer.CreateTemporary(o, ns.DB, options, indexes)
	if err != nil {
		return nil, err
	}
	return &outSink{c: c, command: command, o: o, ns: ns, temp: temp}, nil
}

// Write implements agg.Sink.
func (s *outSink) Write(_ *mql.Env, docs []bson.Raw) error {
	_, errs, err := s.c.Insert(s.o, s.temp, docs, true)
	if err == nil && len(errs) > 0 {
		err = errs[0].Err
	}
	return err
}

// Finish implements agg.Sink.
func (s *outSink) Finish(*mql.Env) error {
	if err := s.c.definer.Replace(s.o, s.temp, s.ns); err != nil {
		return err
	}
	s.done = true
	s.command.Credit(s.o)
	return nil
}

// Close implements agg.Sink.
func (s *outSink) Close() {
	defer func() { s.command.Credit(s.o) }()
	if !s.done {
		s.done = true
		// The drop must run even if the command's context has ended, as it often has.
		s.o.Env.SetContext(context.WithoutCancel(s.o.Env.Context()))
		_, _ = s.c.definer.Drop(s.o, s.temp)
	}
}

// checkSeriesTarget compares the time series options of $out with those of an
// existing collection. Manual: reference/operator/aggregation/out#time-series.
// Errors: 7268700, 7406103.
func checkSeriesTarget(target *catalog.Collection, spec *agg.SinkSpec) error {
	if target == nil || spec.TimeSeries == nil {
		return nil
	}
	if target.IsView() || target.Options.TimeSeries == nil {
		return mongoerr.New(7268700, "Cannot create a time-series collection from a non time-series collection or view: %s", target.Namespace)
	}
	for _, name := range [...]string{"timeField", "metaField", "granularity", "bucketMaxSpanSeconds"} {
		if !bson.Equal(spec.TimeSeries.Get(name), target.Options.TimeSeries.Get(name), nil) {
			return mongoerr.New(7406103, "Time field, meta field or granularity of %s differ from the options of $out: %s", target.Namespace, name)
		}
	}
	return nil
}

// mergeSink is the target of $merge: it merges each document into the target collection by the options whenMatched
// and whenNotMatched.
// Manual: reference/operator/aggregation/merge.
type mergeSink struct {
	c       *Cluster
	command *Op
	o       *Op // writes for the command
	ns      collection.Namespace
	spec    *agg.SinkSpec
	// nullable: the fields of `on` may be null or missing.
	nullable bool
}

// Write implements agg.Sink. If the write of a document fails, the others of the batch are written, as by an unordered
// update, and then the first error is returned.
func (s *mergeSink) Write(_ *mql.Env, docs []bson.Raw) error {
	if s.spec.WhenMissing != agg.MissDiscard {
		if _, err := s.c.ensure(s.o, s.ns); err != nil {
			return err
		}
	}
	var first error
	for _, d := range docs {
		err := s.o.meter.CheckCap()
		if err == nil {
			err = s.merge(d)
		}
		switch {
		case err != nil && !s.ofOneDocument(err):
			return err
		case first == nil:
			first = err
		}
	}
	return first
}

// ofOneDocument reports whether an error of merge concerns only its document, so that others can be written.
func (s *mergeSink) ofOneDocument(err error) bool {
	var e *mongoerr.Error
	if !errors.As(err, &e) || s.o.Env.Interrupted() != nil {
		return false
	}
	switch e.Code {
	case mongoerr.DuplicateKey, mongoerr.DocumentValidationFailure, mongoerr.ImmutableField, mongoerr.BSONObjectTooLarge, mongoerr.MergeStageNoMatchingDocument:
		return true
	}
	return false
}

// byID reports whether the _id is among the fields by which $merge finds a document of the target.
func (s *mergeSink) byID() bool { return len(s.spec.On) == 0 || slices.Contains(s.spec.On, "_id") }

// key returns the filter that selects the document of the target into which fresh, a document of the pipeline, is
// merged.
func (s *mergeSink) key(coll *catalog.Collection, fresh bson.Raw) (bson.Raw, error) {
	on := s.spec.On
	if len(on) == 0 {
		on = []string{"_id"}
		for _, f := range coll.Key.Fields() {
			if f.Path.String() != "_id" {
				on = append(on, f.Path.String())
			}
		}
	}
	b := bson.NewBuilder(nil)
	for _, f := range on {
		p, err := path.Compile(f)
		if err != nil {
			return nil, err
		}
		v := p.Get(fresh)
		switch {
		case v.Type == bson.TypeArray:
			return nil, mongoerr.New(51185, "$merge write error: 'on' field '%s' cannot be an array", f)
		case v.IsNullish() && !s.nullable:
			return nil, mongoerr.New(51132, "$merge write error: 'on' field '%s' cannot be missing, null or undefined", f)
		case v.IsNullish() && f != "_id":
			v = bson.Null
		}
		b.BeginDoc(f)
		b.Value("$eq", v)
		b.End()
	}
	return b.Doc(), nil
}

func (s *mergeSink) merge(fresh bson.Raw) error {
	defer s.c.settle(s.o)
	return s.c.write(s.o, s.ns, func(a *attempt) error {
		if a.coll == nil && s.spec.WhenMissing == agg.MissDiscard {
			return nil // nothing to find, nothing to create
		}
		if a.coll == nil {
			return errStale
		}
		fresh, err := fresh, error(nil)
		if s.byID() {
			if fresh, err = write.Prepare(fresh, s.c.store); err != nil {
				return err
			}
		}
		filter, err := s.key(a.coll, fresh)
		if err != nil {
			return err
		}
		if s.spec.WhenMatched == agg.MatchFail {
			return s.insert(a, fresh)
		}
		q, err := plan.Canonical(s.o.Env, a.coll, plan.Find{Filter: filter, Limit: 1})
		if err != nil {
			return err
		}
		sol, err := s.c.choose(s.o, nil, q)
		if err != nil {
			return err
		}
		shards := router.Targets(a.coll, q.Match, s.o.Env.Collation == nil)
		if err := s.open(a, shards, fresh); err != nil {
			return err
		}
		row, err := a.readFirst(sol, shards)
		switch {
		case err != nil:
			return err
		case row != nil:
			return s.matched(a, row.Doc, row.Hash, fresh)
		case s.spec.WhenMissing == agg.MissDiscard:
			return nil
		case s.spec.WhenMissing == agg.MissFail:
			return mongoerr.New(13113, "$merge could not find a matching document in the target collection for at least one document in the source collection")
		}
		return s.insert(a, fresh)
	})
}

// open admits an attempt of a write of a document to the target's shards and begins its transaction, unless it has one.
func (s *mergeSink) open(a *attempt, shards []*shard.Descriptor, fresh bson.Raw) error {
	a.c.begin(s.o, a.coll)
	s.o.reach.doc = fresh
	if err := a.admit(shards); err != nil {
		return err
	}
	return a.begin()
}

// insert inserts a document of the pipeline, with a new _id if it has none: one that matches none of the target, or,
// for whenMatched: "fail", any one without a search.
func (s *mergeSink) insert(a *attempt, fresh bson.Raw) error {
	fresh, err := write.Prepare(s.spec.Inserted(fresh), s.c.store)
	if err != nil {
		return err
	}
	var h keyspace.Hash
	inTxn := a.coll.Options.Capped // where the next position is read
	if !inTxn {
		h, err = a.position(fresh)
	}
	home := a.coll.Home(fresh, h)
	if err == nil && a.txn == nil {
		err = s.open(a, []*shard.Descriptor{home}, fresh)
	}
	if err == nil && inTxn {
		h, err = a.position(fresh)
	}
	if err != nil {
		return err
	}
	if err := a.insert(fresh, h, home); err != nil {
		return err
	}
	return a.trim()
}

// matched changes the matching document.
func (s *mergeSink) matched(a *attempt, old bson.Raw, h keyspace.Hash, fresh bson.Raw) error {
	if s.spec.WhenMatched == agg.MatchKeep {
		return nil
	}
	doc, err := s.spec.Updated(s.o.Env, old, fresh)
	if err != nil {
		return err
	}
	if !bson.Equal(doc.Get("_id"), old.Get("_id"), nil) {
		return mongoerr.New(mongoerr.ImmutableField, "$merge failed to update the matching document, did you attempt to modify the _id or the shard key?")
	}
	if _, changed := a.coll.Key.Changed(old, doc); changed {
		return mongoerr.New(mongoerr.ImmutableField, "$merge failed to update the matching document, did you attempt to modify the _id or the shard key?")
	}
	if string(doc) == string(old) {
		return nil
	}
	return a.target(a.coll.Home(old, h)).Update(s.o.Env, old, doc, h, changelog.Replace, nil)
}

// Finish implements agg.Sink.
func (s *mergeSink) Finish(*mql.Env) error {
	s.command.Credit(s.o)
	return nil
}

// Close implements agg.Sink.
func (s *mergeSink) Close() { s.command.Credit(s.o) }
