package changestream

import (
	"context"
	"errors"
	"maps"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Source holds what a stream reads from.
type Source struct {
	Store storage.Store
	Hub   *Hub
	// Catalog returns the present catalog.
	Catalog func() *catalog.Snapshot
	// Lookup returns the present version of the document of a record, nil if it is gone: for fullDocument
	// "updateLookup" and Spec.Latest.
	Lookup func(env *mql.Env, uuid [16]byte, rec *changelog.Record) (bson.Raw, error)
	// ImagesSince is the time before which pre- and post-images have expired, in
	// milliseconds since 1970; nil, like 0, keeps them as long as the log.
	ImagesSince func() int64
}

// Stream delivers the events of a collection, a database or everything. Not
// safe for concurrent use.
type Stream struct {
	src     Source
	spec    *Spec
	ns      collection.Namespace // Coll empty: a database; both empty: everything
	names   *names
	watched *watchSet // the present set
	// question is evaluated for records while the stream waits; nil = none.
	question *question

	// read is the last record read from the log; everything before it was taken or skipped.
	read logPosition
	// moreInLog is true if the last pass over the log stopped before its end.
	moreInLog bool
	// reachedEnd is true if the last pass reached the end of the log and Next has not reported that yet.
	reachedEnd bool
	passBytes  int // bytes of records to take in one pass

	items []item
	at    int
	arena []byte

	expect *Token // the event after which to continue, until it is found
	last   Token  // of the last event delivered, or the last mark
	ended  bool

	versions versions // of Spec.Latest

	everything bool // system collections of all databases too: see Oplog

	out     eventBuilder
	time    storage.Timestamp // clusterTime of the event in out
	scratch expr.Scratch
}

// watchSet holds the collections whose events a stream delivers. Immutable, and shared by streams
// that wait for the same.
type watchSet struct {
	byID map[keyspace.CollectionID]target
}

// target is a watched collection and the operations on its documents that can pass the filter of
// the stream.
type target struct {
	*entry
	ops opSet
}

// same reports whether two streams with the same filter, which watch w and v, wait for the same records: the same
// operations in the same collections under the same names.
func (w *watchSet) same(v *watchSet) bool {
	return w == v || maps.EqualFunc(w.byID, v.byID, func(a, b target) bool {
		return a.entry.same(b.entry) && a.ops == b.ops
	})
}

// logPosition is the place of a record in the log: the commit, and the ordinal within the commit.
type logPosition struct {
	ts      storage.Timestamp
	ordinal int64
}

// afterCommit is the ordinal after all records of a commit.
const afterCommit = int64(1) << 40

func (p logPosition) before(q logPosition) bool {
	return p.ts < q.ts || p.ts == q.ts && p.ordinal < q.ordinal
}

// item is a record of the log whose events are still to be made. rec is stored in the arena of the stream.
type item struct {
	logPosition
	own   storage.Timestamp // of the record alone
	rec   []byte
	entry *entry
	cmd   *command
	// sub is the number of the next event to make of a command.
	sub uint8
}

// Bounds of one pass of a stream over the log. A pass that ends inside a large commit is followed by a larger one,
// since that begins at the commit's first record again.
const (
	itemsMax     = 1024
	passBytesMin = 256 << 10
	passBytesMax = 8 << 20
	skippedMax   = 100_000
)

// Open opens a stream on a collection, on a database (ns.Coll is empty) or, with the zero
// namespace, on everything. Without a starting point it delivers what is committed from now on.
// Errors: ChangeStreamHistoryLost (286), storage errors.
func Open(env *mql.Env, src Source, ns collection.Namespace, spec *Spec) (*Stream, error) {
	s := &Stream{src: src, spec: spec, ns: ns, passBytes: passBytesMin, question: newQuestion(spec)}
	start, err := src.Store.Now(env.Context()) // peers may have committed what this server has not read
	if err != nil {
		return nil, err
	}
	switch t := spec.Resume; {
	case t != nil && t.Mark:
		start = t.Time
	case t != nil:
		start = t.Time - 1
		s.expect = t
	case spec.HasStartAt:
		start = spec.StartAt - 1
		if spec.StartAt == 0 {
			start = 0
		}
	}
	if start = max(start, 1); spec.oldest {
		start = 0
	}
	if s.names, err = namesAt(env.Context(), src.Store, src.Catalog, start); err != nil {
		return nil, err
	}
	if err := s.checkNotTruncated(env, start); err != nil {
		return nil, err
	}
	s.read = logPosition{start, afterCommit}
	s.last = s.token(Token{Time: start, Mark: true})
	if t := spec.Resume; t != nil {
		s.last = s.token(*t)
	}
	s.watch(env)
	return s, nil
}

// checkNotTruncated checks, for a stream with a starting point, that nothing after it was dropped from the log, so
// that a client gets the error from the command that resumes. Errors: ChangeStreamHistoryLost (286), storage errors.
func (s *Stream) checkNotTruncated(env *mql.Env, start storage.Timestamp) error {
	if s.spec.Resume == nil && !s.spec.HasStartAt {
		return nil
	}
	_, err := s.src.Store.ReadLog(env.Context(), changelog.Stream, start, func(_, _ storage.Timestamp, _ []byte) bool { return false })
	if errors.Is(err, storage.ErrLogTruncated) {
		return errHistoryLost()
	}
	return err
}

// token adds the parts that all tokens of the stream have in common, such as its partition.
func (s *Stream) token(t Token) Token {
	if r := s.spec.Resume; r != nil && r.Partition {
		t.Partition, t.Range = true, r.Range
	}
	t.Binary = s.spec.Latest
	return t
}

// Token returns where to continue after the last delivered event.
func (s *Stream) Token() Token { return s.last }

// Ended reports whether an invalidate event was the last one.
func (s *Stream) Ended() bool { return s.ended }

// watch determines the collections whose events the stream delivers.
func (s *Stream) watch(env *mql.Env) {
	s.watched = &watchSet{map[keyspace.CollectionID]target{}}
	for id, e := range s.names.byID {
		if (!e.view || e.series && s.everything) && s.inScope(e.ns) {
			ops := s.spec.Filter.ops(env, e.ns)
			if s.spec.Latest {
				ops &^= 1 << changelog.Delete
			}
			s.watched.byID[id] = target{e, ops}
		}
	}
}

// Next returns the next event, valid until the next call. It returns nil if the stream has ended, or if there was
// none at the last pass over the log; the call after that makes another pass. So a batch ends even if changes come
// faster than the log can be read. Token is then a mark, unless the stream has ended. Errors: ChangeStreamHistoryLost
// (286), ChangeStreamFatalError (280), errors of event, of the filter, of env and of the store.
func (s *Stream) Next(env *mql.Env) (bson.Raw, error) {
	for !s.ended {
		if s.at == len(s.items) {
			if s.reachedEnd {
				s.mark()
			} else if err := s.readLog(env); err != nil {
				return nil, err
			}
			if s.at == len(s.items) {
				s.reachedEnd = false
				s.versions.reset()
				break
			}
		}
		it := &s.items[s.at]
		doc, t, err := s.event(env, it)
		if err != nil {
			return nil, err
		}
		if it.cmd == nil || doc == nil {
			s.at++
		}
		if doc == nil {
			continue
		}
		deliver, err := s.resumed(t)
		if err != nil {
			return nil, err
		}
		if !deliver {
			continue
		}
		s.ended = t.Invalidate
		s.last = t
		if f := s.spec.Filter; f != nil {
			pass, err := f.passes(env, doc, &s.scratch)
			if err != nil {
				return nil, err
			}
			if !pass {
				continue
			}
		}
		s.versions.delivered()
		return doc, nil
	}
	return nil, nil
}

// resumed decides about an event of a resumed stream: events up to that of its token are skipped, but a split event
// itself is delivered again. Errors: ChangeStreamFatalError (280) if that event is not found.
func (s *Stream) resumed(t Token) (deliver bool, err error) {
	if s.expect == nil {
		return true, nil
	}
	switch c := t.compare(*s.expect); {
	case c < 0:
		return false, nil
	case c > 0 && s.spec.Latest: // the document of that event is gone
		s.expect = nil
		return true, nil
	case c > 0:
		return false, mongoerr.New(mongoerr.ChangeStreamFatalError, "cannot resume stream; the resume token was not found. %s", s.expect.Document()).
			With(mongoerr.NonResumableChangeStreamError)
	}
	split := s.expect.Fragment > 0
	s.expect = nil
	return split, nil
}

// readLog takes the next records of interest from the log. Afterwards items has records, or the pass stopped before
// the end of the log (moreInLog), or it reached the end and last is a mark.
func (s *Stream) readLog(env *mql.Env) error {
	s.items, s.at, s.arena = s.items[:0], 0, s.arena[:0]
	if cap(s.arena) > 4*passBytesMin {
		s.arena = nil
	}
	from := s.read.ts
	if s.read.ordinal != afterCommit {
		from--
	}
	now := logPosition{from, afterCommit}
	passed, full := 0, false
	var failed error
	next, err := s.src.Store.ReadLog(env.Context(), changelog.Stream, from, func(ts, own storage.Timestamp, rec []byte) bool {
		if ts == now.ts && now.ordinal != afterCommit {
			now.ordinal++
		} else {
			if now.ordinal != afterCommit {
				s.read = logPosition{now.ts, afterCommit}
			}
			if full = len(s.items) >= itemsMax || len(s.arena) >= s.passBytes || passed >= skippedMax; full {
				return false
			}
			now = logPosition{ts, 0}
		}
		if failed = env.Tick(); failed != nil {
			return false
		}
		if full = len(s.arena) >= s.passBytes; full {
			return false
		}
		passed++
		if s.read.before(now) {
			s.take(env, now, own, rec)
			s.read = now
		}
		return true
	})
	switch {
	case errors.Is(err, storage.ErrLogTruncated):
		return errHistoryLost()
	case err != nil:
		return err
	case failed != nil:
		return failed
	}
	s.moreInLog, s.reachedEnd = full, !full
	if !full {
		s.read = logPosition{max(next, s.read.ts), afterCommit}
	}
	if s.passBytes = passBytesMin; s.read.ordinal != afterCommit {
		s.passBytes = min(2*max(len(s.arena), passBytesMin), passBytesMax)
	}
	if len(s.items) == 0 {
		s.mark()
	}
	return nil
}

// mark sets last, the token from which the stream can be resumed, to the time up to which there is nothing to
// deliver.
func (s *Stream) mark() {
	ts := s.read.ts
	if s.read.ordinal != afterCommit {
		ts--
	}
	if s.expect == nil && (ts > s.last.Time || ts == s.last.Time && !s.last.Mark) {
		s.last = s.token(Token{Time: ts, Mark: true})
	}
}

// take adds a record to the items if the stream needs it.
func (s *Stream) take(env *mql.Env, at logPosition, own storage.Timestamp, rec []byte) {
	op, id, ok := changelog.Peek(rec)
	if !ok || op == changelog.Moved {
		return
	}
	if op == changelog.Command {
		s.takeCommand(env, at, own, rec)
		return
	}
	e, ok := s.watched.byID[id]
	if !ok || !e.ops.has(op) && s.expect == nil {
		return
	}
	if r := s.spec.Resume; r != nil && r.Partition {
		if h, id, ok := changelog.HashAndID(rec); !ok || !r.Range.Owns(h, id) {
			return
		}
	}
	n := len(s.arena)
	s.arena = append(s.arena, rec...)
	s.items = append(s.items, item{logPosition: at, own: own, rec: s.arena[n:], entry: e.entry})
}

// takeCommand applies a DDL command to the names, and adds it to the items if the stream shows it.
func (s *Stream) takeCommand(env *mql.Env, at logPosition, own storage.Timestamp, rec []byte) {
	rec = append([]byte(nil), rec...)
	r, err := changelog.Decode(rec)
	if err != nil {
		return
	}
	c, ok := readCommand(&r)
	if !ok {
		return
	}
	if s.shows(&c) {
		s.items = append(s.items, item{logPosition: at, own: own, rec: rec, cmd: &c})
	}
	s.names.apply(&c)
	s.watch(env)
}

// Wait returns nil when Next may find more, otherwise the error that ended the wait.
func (s *Stream) Wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if s.at < len(s.items) || s.moreInLog || s.ended {
		return nil
	}
	i := interest{watched: s.watched, all: s.everything}
	if s.expect == nil {
		i.question = s.question
	}
	upTo, err := s.src.Hub.wait(ctx, s.read.ts, &i)
	s.watched = i.watched
	if upTo > s.read.ts {
		s.read = logPosition{upTo, afterCommit}
		s.mark()
	}
	return err
}
