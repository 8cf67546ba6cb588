package cli

import (
	"context"
	"fmt"
	"sync"

	"github.com/cantledb/cantle/bson"
)

// duplicateRefusals collects documents that a server refused because of a duplicate value, with the server's
// messages, until judge classifies them.
type duplicateRefusals struct {
	docs     []bson.Raw
	messages []string
}

func (d *duplicateRefusals) add(doc bson.Raw, message string) {
	d.docs = append(d.docs, doc)
	d.messages = append(d.messages, message)
}

// judge classifies the refused documents. A document that the server holds unchanged was written by an earlier run,
// and counts as a duplicate; any other counts as failed in w, as do all if the user may not read. hint is added to the
// message if another document has the same _id.
// Errors: errors of the connection.
func (d *duplicateRefusals) judge(ctx context.Context, l *looker, db, coll, hint string, w *written) error {
	if len(d.docs) == 0 {
		return nil
	}
	there, err := l.find(ctx, db, coll, d.docs)
	if isCode(err, codeUnauthorized) { // a user that may only write: all have failed
		there, err = make([]int, len(d.docs)), nil
	}
	if err != nil {
		return err
	}
	for i, doc := range d.docs {
		switch there[i] {
		case isThere:
			w.duplicates++
		case isOther:
			w.fail(fmt.Sprintf("%s.%s: another document with _id %s is there%s", db, coll, doc.Get("_id").Clipped(100), hint))
		default: // a unique index refuses it
			w.fail(fmt.Sprintf("%s.%s: %s", db, coll, d.messages[i]))
		}
	}
	return nil
}

// Results of comparing a document with the documents on the server that have the same _id.
const (
	isMissing = iota
	isOther
	isThere
)

// looker reads documents of the server, over a connection of its own that it opens when first needed. Safe for
// concurrent use; end closes it.
type looker struct {
	uri, verb string
	waits     *waits

	mu sync.Mutex
	t  *transfer // connected to one server, because looker reads by cursors; nil until it is needed
}

// find compares each document with those on the server that have the same _id, and returns isMissing, isOther or
// isThere for each.
func (l *looker) find(ctx context.Context, db, coll string, docs []bson.Raw) ([]int, error) {
	byID := map[string][]int{}
	ids := bson.A{}
	for i, doc := range docs {
		id := doc.Get("_id")
		if id.IsMissing() { // the server generated an _id, so a unique index refused the document
			continue
		}
		byID[idBytes(id)] = append(byID[idBytes(id)], i)
		ids = append(ids, id)
	}
	find := bson.D{{"find", coll}, {"filter", bson.D{{"_id", bson.D{{"$in", ids}}}}}}.Doc()
	found := make([]int, len(docs))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.t == nil {
		t, err := newTransfer(l.uri, l.verb, onOne)
		if err != nil {
			return nil, err
		}
		t.waits = l.waits
		l.t = t
	}
	err := l.t.scan(ctx, db, find, func(doc bson.Raw) error {
		for _, i := range byID[idBytes(doc.Get("_id"))] {
			if equalDocument(docs[i], doc) {
				found[i] = isThere
			} else if found[i] == isMissing {
				found[i] = isOther
			}
		}
		return nil
	})
	return found, err
}

func idBytes(id bson.Value) string { return string(id.Type) + string(id.Data) }

func (l *looker) end() {
	if l.t != nil {
		l.t.end()
	}
}

// equalDocument reports whether the document read, from a file, equals the document there, from a server. A server
// moves _id to the front and replaces an empty timestamp by the time, so these two changes are allowed.
// Manual: reference/bson-types#timestamps.
func equalDocument(read, there bson.Raw) bool {
	next := fieldsBesidesID(there)
	for it := read.Iter(); it.Next(); {
		if string(it.Name) == "_id" {
			continue
		}
		name, v, ok := next()
		if !ok || name != string(it.Name) {
			return false
		}
		seconds, n, stamp := it.Value.Timestamp()
		if stamp && seconds == 0 && n == 0 && v.Type == bson.TypeTimestamp {
			continue
		}
		if !it.Value.Identical(v) {
			return false
		}
	}
	_, _, more := next()
	return !more
}

func fieldsBesidesID(doc bson.Raw) func() (string, bson.Value, bool) {
	it := doc.Iter()
	return func() (string, bson.Value, bool) {
		for it.Next() {
			if string(it.Name) != "_id" {
				return string(it.Name), it.Value, true
			}
		}
		return "", bson.Value{}, false
	}
}
