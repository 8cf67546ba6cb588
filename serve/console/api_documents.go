package console

import (
	"encoding/json"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// findReply is a page of documents.
type findReply struct {
	Documents []json.RawMessage `json:"documents"`
	// Estimate is the expected cost of the query, computed before it ran, and Charge the
	// actual cost.
	Estimate json.RawMessage `json:"estimate"`
	Charge   float64         `json:"charge"`
	Millis   float64         `json:"millis"`
	// More reports whether there are documents after these.
	More bool `json:"more"`
}

// pageBytes bounds the documents of a page.
const pageBytes = 8 << 20

// find returns a page of documents. With estimate: true it returns only their expected
// cost.
func find(q *query) (any, error) {
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	inner, err := q.findCommand(ns)
	if err != nil {
		return nil, err
	}
	plan, err := q.runCommand(ns.DB, func(b *bson.Builder) {
		b.Raw("explain", inner)
		b.String("verbosity", "queryPlanner")
	})
	if err != nil {
		return nil, err
	}
	out := findReply{Documents: []json.RawMessage{}, Estimate: json.RawMessage("null")}
	if d, ok := plan.Get("requestChargeEstimate").Doc(); ok {
		out.Estimate = json.RawMessage(ejson.String(d))
	}
	if q.body.Get("estimate").Truthy() {
		return out, nil
	}
	limit, _ := inner.Get("limit").AsInt64()
	begun := q.Now()
	reply, err := q.runCommand(ns.DB, func(b *bson.Builder) {
		for it := inner.Iter(); it.Next(); {
			if string(it.Name) != "limit" {
				b.ValueBytes(it.Name, it.Value)
			}
		}
		b.Int64("limit", limit+1) // one more shows whether there are more
		b.Bool("singleBatch", true)
		b.Int64("batchSize", limit+1)
		b.Int64("maxTimeMS", 60_000)
		b.BeginDoc("comment")
		b.Bool("requestCharge", true)
		b.End()
	})
	if err != nil {
		return nil, err
	}
	out.Millis = float64(q.Now().Sub(begun).Microseconds()) / 1000
	out.Charge, _ = reply.Get("requestCharge").AsFloat()
	cursor, _ := reply.Get("cursor").Doc()
	list, _ := cursor.Get("firstBatch").Array()
	bytes := 0
	for v := range list.Values() {
		d, _ := v.Doc()
		if bytes += len(d); int64(len(out.Documents)) >= limit || bytes > pageBytes {
			out.More = true
			break
		}
		text := ejson.String
		if q.body.Get("canonical").Truthy() {
			text = ejson.Canonical
		}
		out.Documents = append(out.Documents, json.RawMessage(text(d)))
	}
	return out, nil
}

// mayWrite refuses changes of documents unless the server was started with
// --console-write.
// Errors: Unauthorized (13).
func (q *query) mayWrite() error {
	if q.Writable {
		return nil
	}
	return mongoerr.New(mongoerr.Unauthorized, "The console may not change documents: start the server with --console-write to allow it")
}

// change runs one write and returns its reply.
func (q *query) change(build func(b *bson.Builder, coll string) error) (any, error) {
	if err := q.mayWrite(); err != nil {
		return nil, err
	}
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	b := bson.NewBuilder(nil)
	if err := build(b, ns.Coll); err != nil {
		return nil, err
	}
	b.BeginDoc("comment")
	b.Bool("requestCharge", true)
	b.End()
	reply, err := q.in.runCommand(q.Context(), ns.DB, b.Doc())
	if err != nil {
		return nil, err
	}
	if list, ok := reply.Get("writeErrors").Array(); ok {
		for v := range list.Values() {
			d, _ := v.Doc()
			code, _ := d.Get("code").TruncInt64()
			text, _ := d.Get("errmsg").Str()
			return nil, mongoerr.New(mongoerr.Code(code), "%s", text)
		}
	}
	return raw(reply), nil
}

// insertDocument inserts a document.
func insertDocument(q *query) (any, error) {
	return q.change(func(b *bson.Builder, coll string) error {
		d, err := q.document("document")
		b.String("insert", coll)
		b.BeginArray("documents")
		b.Raw("", d)
		b.End()
		return err
	})
}

// replaceDocument replaces a document, found by its _id.
func replaceDocument(q *query) (any, error) {
	return q.change(func(b *bson.Builder, coll string) error {
		d, err := q.document("document")
		b.String("update", coll)
		b.BeginArray("updates")
		b.BeginDoc("")
		b.BeginDoc("q")
		b.Value("_id", q.body.Get("id"))
		b.End()
		b.Raw("u", d)
		b.End()
		b.End()
		return err
	})
}

// deleteDocument deletes a document, found by its _id.
func deleteDocument(q *query) (any, error) {
	return q.change(func(b *bson.Builder, coll string) error {
		b.String("delete", coll)
		b.BeginArray("deletes")
		b.BeginDoc("")
		b.BeginDoc("q")
		b.Value("_id", q.body.Get("id"))
		b.End()
		b.Int32("limit", 1)
		b.End()
		b.End()
		return nil
	})
}
