package data

import (
	"context"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/command"
)

// changeSource is the source of documents for the cursor of a change stream. Without new events it waits; it ends
// after an invalidate event. Every batch has a token from which the client can resume.
// Spec: change-streams.
type changeSource struct {
	streamSource
	// token is the resume token after the last batch.
	token bson.Raw
	last  storage.Timestamp // the commit time of the last delivered event
	// throttledFor is the time for which the stream must wait for request units; until then batches are empty.
	throttledFor time.Duration
	// samePoll is true if the next Append belongs to the same poll of the client as the previous Append, so that an
	// empty poll is counted only once.
	samePoll bool
	counts   *command.ChangeCounts
}

// newChangeSource returns the source of a cursor for a change stream, which counts its batches in counts.
func newChangeSource(s *cluster.Stream, op *cluster.Op, counts *command.ChangeCounts) *changeSource {
	return &changeSource{streamSource: streamSource{s: s, op: op}, token: s.Changes.Token().Document(), counts: counts}
}

// Append implements cursor.Source.
func (x *changeSource) Append(ctx context.Context, b *bson.Builder, most, maxBytes int) (n int, more bool, err error) {
	env := x.op.Env
	env.SetContext(ctx)
	start := b.Len()
	// If request units are lacking, the stream delivers an empty batch instead of an error, and the client sends
	// another getMore.
	// Source: Azure Cosmos DB for MongoDB, "change-streams".
	if x.throttledFor = x.s.Refused(); x.throttledFor > 0 {
		return 0, true, nil
	}
	again := x.samePoll
	x.samePoll = false
	defer func() { countChanges(ctx, x.counts, again, n, b.Len()-start, err) }()
	defer x.s.Settle()
	defer func() {
		if n > 0 || !again {
			x.s.Polled(n == 0)
		}
	}()
	defer env.ReleaseSlot()
	for most == 0 || n < most {
		var doc bson.Raw
		if x.held != nil {
			doc, x.held = x.held.doc, nil
		} else {
			row, err := x.s.Next(env)
			if err != nil {
				return n, false, err
			}
			if row == nil {
				// If no event followed the last one of the batch, the token of the batch stays the token of that
				// event: clients that store the _id of the last event expect both to be equal.
				if t := x.s.Changes.Token(); n == 0 || t.Time != x.last {
					x.token = t.Document()
				}
				return n, !x.s.Changes.Ended(), nil
			}
			doc = row.Doc
		}
		token, err := x.check(doc)
		if err != nil {
			return n, false, err
		}
		if n > 0 && b.Len()-start+len(doc) > maxBytes {
			x.held = &heldRow{doc.Clone()}
			return n, true, nil
		}
		if len(doc) > bson.MaxDocumentBytes+eventHeadroom {
			return n, false, mongoerr.New(mongoerr.BSONObjectTooLarge, "BSONObj size: %d is invalid. Size must be between 0 and %d; "+
				"add $changeStreamSplitLargeEvent to the pipeline", len(doc), bson.MaxDocumentBytes+eventHeadroom)
		}
		x.token, x.last = append(x.token[:0], token...), x.s.Changes.Token().Time
		b.Value("", doc.Value())
		n++
	}
	return n, true, nil
}

// eventHeadroom is the number of bytes by which an event of a change stream may exceed the maximum size of a
// document: 16 KiB.
const eventHeadroom = 16 << 10

// check returns the resume token of an event, its _id, after all pipeline stages of the change stream.
// Errors: ChangeStreamFatalError (280) if a stage has changed or removed the token, or if the event is a fragment and
// the pipeline does not split events.
func (x *changeSource) check(doc bson.Raw) (bson.Raw, error) {
	id, _ := doc.Get("_id").Doc()
	want := x.s.Changes.Token()
	got, err := changestream.ParseToken(id)
	fields := 1
	if got.Binary {
		fields = 2
	}
	if err == nil && id.Len() != fields {
		err = mongoerr.New(mongoerr.ChangeStreamFatalError, "")
	}
	if err == nil && x.held == nil {
		fragment := got.Fragment
		if got.Fragment = want.Fragment; !got.Same(want) {
			err = mongoerr.New(mongoerr.ChangeStreamFatalError, "")
		}
		if fragment > 0 && doc.Get("splitEvent").IsMissing() {
			return nil, mongoerr.New(mongoerr.ChangeStreamFatalError, "To resume from a split event, the $changeStream pipeline must include a $changeStreamSplitLargeEvent stage").
				With(mongoerr.NonResumableChangeStreamError)
		}
	}
	if err != nil {
		return nil, mongoerr.New(mongoerr.ChangeStreamFatalError, "Encountered an event whose _id field, which contains the resume token, was modified by the pipeline. "+
			"Modifying the _id field of an event makes it impossible to resume the stream from that point. Only transformations that retain the unmodified _id field are allowed. "+
			"Expected: %s but found: %s", want.Document(), shownID(doc)).With(mongoerr.NonResumableChangeStreamError)
	}
	return id, nil
}

// shownID returns the _id of a document as text for error messages, "MISSING" without an _id.
func shownID(doc bson.Raw) string {
	v := doc.Get("_id")
	if v.IsMissing() {
		return "MISSING"
	}
	return v.String()
}

// Wait implements cursor.Waiter.
func (x *changeSource) Wait(ctx context.Context) error {
	if x.throttledFor > 0 {
		t := time.NewTimer(x.throttledFor)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := x.s.Changes.Wait(ctx)
	x.samePoll = err == nil
	if x.held == nil {
		x.token = x.s.Changes.Token().Document()
	}
	return err
}

// AppendToken implements command.TokenAppender.
func (x *changeSource) AppendToken(b *bson.Builder) { b.Raw("postBatchResumeToken", x.token) }
