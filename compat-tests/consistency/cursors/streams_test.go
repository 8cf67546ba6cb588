package cursors

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/consistency/histories"
)

// streamTimeout is the time within which a change stream must return the last document of a run.
const streamTimeout = 30 * time.Second

// follower reads the changes of some collections by a sequence of change streams, each of which resumes where the
// one before stopped.
type follower struct {
	*world
	what     string
	names    []string // of the collections that it follows
	watch    func(c *mongo.Client, ctx context.Context, pipeline any, o ...options.Lister[options.ChangeStreamOptions]) (*mongo.ChangeStream, error)
	pipeline mongo.Pipeline
	matches  func(x histories.Change) bool
	options  func() *options.ChangeStreamOptionsBuilder
	before   bool                 // with pre-images
	after    options.FullDocument // the option for post-images of updates, "" = without

	token      bson.Raw
	sent, back int64
	events     []received
}

// Change event with its resume token and its cluster time.
type received struct {
	histories.Event
	token bson.Raw
	at    bson.Timestamp
	last  bool // the last document of its collections
}

// ofCollection, ofDatabase and ofCluster return a function that opens a change stream on a collection, a database or
// all databases.
func ofCollection(ns string) func(c *mongo.Client, ctx context.Context, pipeline any, o ...options.Lister[options.ChangeStreamOptions]) (*mongo.ChangeStream, error) {
	return func(c *mongo.Client, ctx context.Context, pipeline any, o ...options.Lister[options.ChangeStreamOptions]) (*mongo.ChangeStream, error) {
		return coll(c, ns).Watch(ctx, pipeline, o...)
	}
}

func ofDatabase(c *mongo.Client, ctx context.Context, pipeline any, o ...options.Lister[options.ChangeStreamOptions]) (*mongo.ChangeStream, error) {
	return c.Database("moving").Watch(ctx, pipeline, o...)
}

func ofCluster(c *mongo.Client, ctx context.Context, pipeline any, o ...options.Lister[options.ChangeStreamOptions]) (*mongo.ChangeStream, error) {
	return c.Watch(ctx, pipeline, o...)
}

// followers returns the followers of a run, of different scopes, pipelines and options. Each has the resume token of
// a first stream, which is closed again.
func (w *world) followers(ctx context.Context) ([]*follower, error) {
	plain := options.ChangeStream
	even := mongo.Pipeline{
		on("$match", on("documentKey._id", on("$mod", bson.A{2, 0}))),
		on("$project", bson.D{{Key: "operationType", Value: 1}, {Key: "clusterTime", Value: 1}, {Key: "ns", Value: 1}, {Key: "documentKey", Value: 1}, {Key: "fullDocument.v", Value: 1}, {Key: "updateDescription.updatedFields.v", Value: 1}}),
	}
	isEven := func(x histories.Change) bool { return x.Key%2 == 0 }
	known := mongo.Pipeline{on("$match", on("ns.db", on("$in", bson.A{"moving", "beside"})))}
	list := []*follower{
		{what: "a collection", names: []string{docs}, watch: ofCollection(docs), options: plain},
		{what: "a collection with all images", names: []string{docs}, watch: ofCollection(docs), after: options.Required, before: true,
			options: func() *options.ChangeStreamOptionsBuilder {
				return plain().SetFullDocument(options.Required).SetFullDocumentBeforeChange(options.Required)
			}},
		{what: "a collection with documents looked up", names: []string{more}, watch: ofCollection(more), after: options.UpdateLookup,
			options: func() *options.ChangeStreamOptionsBuilder { return plain().SetFullDocument(options.UpdateLookup) }},
		{what: "even keys of a collection", names: []string{docs}, watch: ofCollection(docs), options: plain, pipeline: even, matches: isEven},
		{what: "a database", names: []string{docs, more, tail}, watch: ofDatabase, options: plain},
		{what: "everything", names: []string{docs, more, tail, beside}, watch: ofCluster, options: plain, pipeline: known},
	}
	for _, f := range list {
		f.world, f.sent = w, w.now()
		s, err := f.open(ctx, w.all, plain())
		if err != nil {
			return nil, fmt.Errorf("a stream of %s: %w", f.what, err)
		}
		f.back, f.token = w.now(), bytes.Clone(s.ResumeToken())
		_ = s.Close(ctx)
	}
	return list, nil
}

// open opens a change stream with the pipeline and the options of the follower; from has the position at which it
// starts.
func (f *follower) open(ctx context.Context, c *mongo.Client, from *options.ChangeStreamOptionsBuilder) (*mongo.ChangeStream, error) {
	pipeline := f.pipeline
	if pipeline == nil {
		pipeline = mongo.Pipeline{}
	}
	return f.watch(c, ctx, pipeline, f.options(), from)
}

// work follows until working ends.
func (f *follower) work(working, ctx context.Context, r *rand.Rand) {
	for sleep(working, time.Duration(r.IntN(50))*time.Millisecond) {
		f.some(ctx, r, 1+r.IntN(200))
	}
}

// from returns options that resume after a token.
func from(r *rand.Rand, token bson.Raw) *options.ChangeStreamOptionsBuilder {
	o := options.ChangeStream().SetMaxAwaitTime(100 * time.Millisecond).SetBatchSize(int32(r.IntN(40)))
	if r.IntN(2) == 0 {
		return o.SetResumeAfter(token)
	}
	return o.SetStartAfter(token)
}

// some takes at most that many events.
func (f *follower) some(ctx context.Context, r *rand.Rand, most int) {
	list, token, err := f.take(ctx, f.any(r), from(r, f.token), most, 3)
	f.events = append(f.events, list...)
	if token != nil {
		f.token = token
	}
	if err != nil && !f.away(err) {
		f.bad("a stream of %s: %v", f.what, err)
	}
	f.did("events", len(list))
	f.did("resumed", 1)
}

// take opens a change stream and returns up to most events. It ends at the last document of the run, or after idle
// empty batches. token is a resume token after the last returned event,
// perhaps of a later position.
func (f *follower) take(ctx context.Context, c *mongo.Client, o *options.ChangeStreamOptionsBuilder, most, idle int) (list []received, token bson.Raw, err error) {
	s, err := f.open(ctx, c, o)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close(context.WithoutCancel(ctx))
	for empty := 0; len(list) < most && empty < idle; {
		if !s.TryNext(ctx) {
			if s.Err() != nil || s.ID() == 0 {
				break
			}
			empty++
			continue
		}
		empty = 0
		e, err := f.event(s.Current)
		if err != nil {
			return list, token, err
		}
		list, token = append(list, e), bytes.Clone(s.ResumeToken())
		if e.last {
			break
		}
	}
	if t := s.ResumeToken(); t != nil && s.Err() == nil {
		token = bytes.Clone(t)
	}
	return list, token, s.Err()
}

// event decodes an event.
func (f *follower) event(e bson.Raw) (out received, err error) {
	ns := e.Lookup("ns", "db").StringValue() + "." + e.Lookup("ns", "coll").StringValue()
	key, ok := e.Lookup("documentKey", "_id").AsInt64OK()
	if !ok || !slices.Contains(f.names, ns) {
		return out, fmt.Errorf("an event that is about none of its documents: %s", e)
	}
	out.Key, out.token = int(key), bytes.Clone(e.Lookup("_id").Document())
	out.at.T, out.at.I = e.Lookup("clusterTime").Timestamp()
	out.Time = uint64(out.at.T)<<32 | uint64(out.at.I)
	out.last = out.Key == last && ns == f.names[0]
	version := func(path ...string) int {
		v, _ := e.Lookup(path...).AsInt64OK()
		return int(v)
	}
	switch kind := e.Lookup("operationType").StringValue(); kind {
	case "insert", "replace":
		out.Version = version("fullDocument", "v")
	case "update":
		out.Version = version("updateDescription", "updatedFields", "v")
		out.HasAfter, out.Looked, out.After = f.after != "", f.after == options.UpdateLookup, version("fullDocument", "v")
	case "delete":
	default:
		return out, fmt.Errorf("an event %s: %s", kind, e)
	}
	if f.before {
		out.HasBefore, out.Before = true, version("fullDocumentBeforeChange", "v")
	}
	return out, nil
}

// end reads the follower's stream up to the last document of the run, checks the events, and then checks streams
// that are resumed at random events (same).
func (f *follower) end(ctx context.Context, r *rand.Rand) {
	for until := time.Now().Add(streamTimeout); !f.over() && time.Now().Before(until) && ctx.Err() == nil; {
		f.some(ctx, r, 1000)
	}
	if !f.over() {
		f.bad("a stream of %s does not come to the last document in %v", f.what, streamTimeout)
	}
	s := histories.Stream{Sent: f.sent, Back: f.back, Complete: true}
	for _, x := range f.of(f.names...) {
		if f.matches == nil || f.matches(x) {
			s.Changes = append(s.Changes, x)
		}
	}
	for _, e := range f.events {
		s.Events = append(s.Events, e.Event)
	}
	for _, text := range s.Judge() {
		f.bad("a stream of %s, %d events: %s", f.what, len(f.events), text)
	}
	for range 5 {
		if len(f.events) == 0 {
			return
		}
		at := r.IntN(len(f.events))
		if r.IntN(3) == 0 {
			at = max(0, len(f.events)-1-r.IntN(50))
		}
		f.same(ctx, r, at)
	}
}

// over reports whether the last document has come.
func (f *follower) over() bool { return len(f.events) > 0 && f.events[len(f.events)-1].last }

// same resumes the stream after the event with the index at, or at the time of this event, and checks that the
// events that follow are the same as the recorded ones.
func (f *follower) same(ctx context.Context, r *rand.Rand, at int) {
	o, want, how := from(r, f.events[at].token), f.events[at+1:], "behind"
	if r.IntN(3) == 0 {
		time := f.events[at].at
		for at > 0 && f.events[at-1].at == time {
			at--
		}
		o, want, how = options.ChangeStream().SetStartAtOperationTime(&time), f.events[at:], "at the time of"
	}
	if len(want) == 0 {
		return
	}
	got, _, err := f.take(ctx, f.any(r), o, len(want)+1, 30)
	if err != nil {
		f.bad("a stream of %s that is resumed %s event %d of %d: %v", f.what, how, at, len(f.events), err)
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !bytes.Equal(got[i].token, want[i].token) || got[i].Key != want[i].Key || got[i].Version != want[i].Version || got[i].Before != want[i].Before {
			f.bad("a stream of %s that is resumed %s event %d of %d gives %d events, and gave %d: number %d differs", f.what, how, at, len(f.events), len(got), len(want), i)
			return
		}
	}
}
