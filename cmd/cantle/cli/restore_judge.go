package cli

import (
	"context"
	"fmt"

	"github.com/cantledb/cantle/bson"
)

// takenDocuments are those that a server refused for a value that is there already, with its messages.
type takenDocuments struct {
	docs     []bson.Raw
	messages []string
}

func (d *takenDocuments) add(doc bson.Raw, message string) {
	d.docs = append(d.docs, doc)
	d.messages = append(d.messages, message)
}

// judge looks at the documents that the server did not take: one that is there as it is in the dump was
// restored before; any other is lost, and has failed.
func (l *loading) judge(ctx context.Context, taken *takenDocuments, w *written) error {
	if len(taken.docs) == 0 {
		return nil
	}
	there, err := l.r.lookFor(ctx, l.DB, l.Coll, taken.docs)
	if err != nil {
		return err
	}
	for i, doc := range taken.docs {
		switch there[i] {
		case isThere:
			w.duplicates++
			continue
		case isOther:
			w.fail(l.differs(doc))
		default: // a unique index refuses it
			w.fail(l.NS() + ": " + taken.messages[i])
		}
	}
	return nil
}

// differs returns the message for a document whose _id another document has.
func (l *loading) differs(doc bson.Raw) string {
	text := fmt.Sprintf("%s: another document with _id %s is there", l.NS(), doc.Get("_id").Clipped(100))
	if l.asked == nil {
		text += fmt.Sprintf(". In an account _id is unique by value of the shard key: a collection that was sharded is restored with --drop --shard-key %s=FIELD", l.source)
	}
	return text
}

// How a document of a dump and those with its _id on the server compare.
const (
	isMissing = iota
	isOther
	isThere
)

// lookFor compares documents with those that have their _id.
func (r *restoring) lookFor(ctx context.Context, db, coll string, docs []bson.Raw) ([]int, error) {
	byID := map[string][]int{}
	b := bson.NewBuilder(nil)
	b.String("find", coll)
	b.BeginDoc("filter")
	b.BeginDoc("_id")
	b.BeginArray("$in")
	for i, doc := range docs {
		id := doc.Get("_id")
		if id.IsMissing() { // the server gave it one: a unique index refused it
			continue
		}
		byID[idBytes(id)] = append(byID[idBytes(id)], i)
		b.Value("", id)
	}
	b.End()
	b.End()
	b.End()
	found := make([]int, len(docs))
	r.looking.Lock()
	defer r.looking.Unlock()
	t, err := r.lookingTransfer()
	if err != nil {
		return nil, err
	}
	err = t.scan(ctx, db, b.Doc(), func(doc bson.Raw) error {
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

// lookingTransfer reads by cursors, so that it is with one server. r.looking is held.
func (r *restoring) lookingTransfer() (*transfer, error) {
	if r.looker == nil {
		t, err := newTransfer(r.uri, "cantle restore", onOne)
		if err != nil {
			return nil, err
		}
		t.waits = r.waits
		r.looker = t
	}
	return r.looker, nil
}

func (r *restoring) endLooking() {
	if r.looker != nil {
		r.looker.end()
	}
}

// equalDocument compares a document of a dump with one of a server, which has _id at the front and a
// time in the place of an empty timestamp. Manual: reference/bson-types#timestamps.
func equalDocument(dumped, there bson.Raw) bool {
	next := fieldsBesidesID(there)
	for it := dumped.Iter(); it.Next(); {
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
