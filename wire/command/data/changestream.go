package data

import (
	"context"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
)

// changeSource makes a cursor's source of a change stream: it has no end but
// waits, and every batch says where to go on.
// Spec: change-streams.
type changeSource struct {
	streamSource
	// token is where to go on after the last batch.
	token bson.Raw
	last  storage.Timestamp // last is when the last event that was delivered was committed
	// refused is how long the budget wants it to wait: its batches are empty.
	refused time.Duration
	// again: the next Append belongs to the same poll as the previous one.
	again bool
}

// newChangeSource makes the source of a cursor from a change stream.
func newChangeSource(s *cluster.Stream, op *cluster.Op) *changeSource {
	return &changeSource{streamSource: streamSource{s: s, op: op}, token: s.Changes.Token().Document()}
}

// Append see cursor.Source.
func (x *changeSource) Append(ctx context.Context, b *bson.Builder, most, maxBytes int) (n int, more bool, err error) {
	env := x.op.Env
	env.SetContext(ctx)
	start := b.Len()
	// A throttled stream delivers nothing instead of failing: the client asks again.
	// Source: Azure Cosmos DB for MongoDB, "change-streams".
	if x.refused = x.s.Refused(); x.refused > 0 {
		return 0, true, nil
	}
	again := x.again
	x.again = false
	defer x.s.Settle()
	defer func() {
		if n > 0 || !again {
			x.s.Polled(n == 0)
		}
	}()
	defer env.Pause()
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
				// Where nothing came behind the batch's last event its token stands for both,
				// as clients expect that remember the last event's _id.
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

// eventHeadroom is how much larger than a document an event may be.
const eventHeadroom = 16 << 10

// check returns the token of an event that comes out of the pipeline.
// Errors: ChangeStreamFatalError (280) when a stage has changed or removed it.
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

// shownID is the _id of a document as messages show it.
func shownID(doc bson.Raw) string {
	v := doc.Get("_id")
	if v.IsMissing() {
		return "MISSING"
	}
	return v.String()
}

// Wait see cursor.Waiter.
func (x *changeSource) Wait(ctx context.Context) error {
	if x.refused > 0 {
		t := time.NewTimer(x.refused)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := x.s.Changes.Wait(ctx)
	x.again = err == nil
	if x.held == nil {
		x.token = x.s.Changes.Token().Document()
	}
	return err
}

// AppendToken see tokened.
func (x *changeSource) AppendToken(b *bson.Builder) { b.Raw("postBatchResumeToken", x.token) }
