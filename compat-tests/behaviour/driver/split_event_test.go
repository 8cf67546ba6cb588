package driver

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// TestWatchSplitEvent updates a large document whose change event, with pre-image and post-image, has over 16 MiB. A
// change stream fails on it, unless its pipeline has $changeStreamSplitLargeEvent: then the stream returns fragments,
// which the client reassembles, and a stream that is resumed after a fragment returns the next one.
// Manual: reference/operator/aggregation/changeStreamSplitLargeEvent.
func TestWatchSplitEvent(t *testing.T) {
	f := single(t)
	f.ok(f.db.RunCommand(f.ctx, d("create", "c", "changeStreamPreAndPostImages", d("enabled", true))).Err())
	old, now := strings.Repeat("o", 10<<20), strings.Repeat("n", 10<<20)
	f.insert(d("_id", 1, "text", old))
	images := func() *options.ChangeStreamOptionsBuilder {
		return options.ChangeStream().SetFullDocument(options.Required).SetFullDocumentBeforeChange(options.Required)
	}
	whole := f.watch(mongo.Pipeline{}, images())
	pipeline := mongo.Pipeline{d("$changeStreamSplitLargeEvent", d())}
	s := f.watch(pipeline, images())
	_, err := f.coll.UpdateOne(f.ctx, d("_id", 1), d("$set", d("text", now)))
	f.ok(err)
	f.insert(d("_id", 2))

	if whole.Next(f.ctx) {
		t.Errorf("an event of %d bytes came in one piece", len(whole.Current))
	}
	f.code(whole.Err(), 10334)

	event, tokens := map[string]bson.RawValue{}, []bson.Raw{}
	for of := 1; len(tokens) < of; {
		if !s.Next(f.ctx) {
			t.Fatalf("after %d fragments: %v", len(tokens), s.Err())
		}
		if size := len(s.Current); size > 16<<20+16<<10 {
			t.Errorf("a fragment of %d bytes", size)
		}
		part, err := s.Current.LookupErr("splitEvent")
		f.ok(err)
		tokens = append(tokens, s.ResumeToken())
		n, _ := part.Document().Lookup("fragment").AsInt64OK()
		total, _ := part.Document().Lookup("of").AsInt64OK()
		if of = int(total); int(n) != len(tokens) || of < 2 {
			t.Fatalf("fragment %d of %d came as number %d", n, of, len(tokens))
		}
		fields, err := s.Current.Elements()
		f.ok(err)
		for _, e := range fields {
			switch e.Key() {
			case "_id", "splitEvent":
				continue
			}
			if _, twice := event[e.Key()]; twice {
				t.Errorf("%s comes in two fragments", e.Key())
			}
			v := e.Value()
			event[e.Key()] = bson.RawValue{Type: v.Type, Value: append([]byte(nil), v.Value...)}
		}
	}
	for name, want := range map[string]string{"fullDocument": now, "fullDocumentBeforeChange": old} {
		if got, _ := event[name].Document().Lookup("text").StringValueOK(); got != want {
			t.Errorf("%s has %d bytes of text, not those it should", name, len(got))
		}
	}
	f.equal("operation", event["operationType"].StringValue(), "update")
	if e := f.next(s); e.OperationType != "insert" {
		t.Errorf("after the fragments comes %s", e.OperationType)
	}

	for i, token := range tokens {
		s := f.watch(pipeline, images().SetResumeAfter(token))
		if !s.Next(f.ctx) {
			t.Fatalf("resumed after fragment %d: %v", i+1, s.Err())
		}
		want := fmt.Sprintf("fragment %d", i+2)
		got := "insert"
		if part, err := s.Current.LookupErr("splitEvent"); err == nil {
			n, _ := part.Document().Lookup("fragment").AsInt64OK()
			got = fmt.Sprintf("fragment %d", n)
		}
		if i == len(tokens)-1 {
			want = "insert"
		}
		f.equal("resumed", got, want)
	}
}
