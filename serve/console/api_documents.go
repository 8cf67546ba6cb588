package console

import (
	"encoding/json"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// findReply is a page of documents.
type findReply struct {
	Documents []json.RawMessage `json:"documents"`
	// Estimate is the cost of the query in RU as computed before the query ran; Charge is the cost in RU that was
	// charged.
	Estimate json.RawMessage `json:"estimate"`
	Charge   float64         `json:"charge"`
	Millis   float64         `json:"millis"`
	// More reports whether there are documents after these.
	More bool `json:"more"`
	// Cursor continues after these documents, see nextPage; "" without the argument cursor, and after the last page.
	Cursor string `json:"cursor,omitempty"`
}

// pageBytes bounds the documents of a page that is no batch of a cursor.
const pageBytes = 8 << 20

// find returns a page of a collection's documents, at most as many as the argument limit and pageBytes allow. If the
// argument estimate is true, the query does not run, and find returns only its expected cost. With the argument cursor
// the page is the first of a cursor, so that the following pages do not read its documents again.
func find(q *query) (any, error) {
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	inner, err := q.findCommand(ns)
	if err != nil {
		return nil, err
	}
	out := findReply{}
	if err := q.estimateInto(&out, ns, inner); err != nil {
		return nil, err
	}
	if q.body.Get("estimate").Truthy() {
		return out, nil
	}
	limit, _ := inner.Get("limit").AsInt64()
	command := slices.DeleteFunc(inner.D(), func(e bson.E) bool { return e[0] == "limit" })
	command = append(command, bson.E{"maxTimeMS", int64(runMillis)}, charged)
	if q.body.Get("cursor").Truthy() {
		err = q.readPage(&out, ns, append(command, bson.E{"batchSize", limit}), limit, wholeBatch)
		return out, err
	}
	// One more document shows whether there are more.
	err = q.readPage(&out, ns, append(command, bson.D{{"limit", limit + 1}, {"singleBatch", true}, {"batchSize", limit + 1}}...), limit, pageBytes)
	return out, err
}

// mayWrite refuses a change of documents unless the server was started with --console-write.
// Errors: Unauthorized (13).
func (q *query) mayWrite() error {
	if q.Writable {
		return nil
	}
	return mongoerr.New(mongoerr.Unauthorized, "The console may not change documents: start the server with --console-write to allow it")
}

// charged is the comment field that the console adds to a command so that the reply contains the command's charge.
var charged = bson.E{"comment", bson.D{{"requestCharge", true}}}

// change runs one write on the collection that the request names, and returns the reply. The function command makes
// the write's command for the collection's name.
// Errors: the errors of mayWrite, of the arguments and of the command; the first write error.
func (q *query) change(command func(coll string) (bson.D, error)) (any, error) {
	if err := q.mayWrite(); err != nil {
		return nil, err
	}
	ns, err := q.namespace()
	if err != nil {
		return nil, err
	}
	write, err := command(ns.Coll)
	if err != nil {
		return nil, err
	}
	reply, err := q.runCommand(ns.DB, append(write, charged))
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
	return q.change(func(coll string) (bson.D, error) {
		d, err := q.document("document")
		return bson.D{{"insert", coll}, {"documents", bson.A{d}}}, err
	})
}

// replaceDocument replaces a document, found by its _id.
func replaceDocument(q *query) (any, error) {
	return q.change(func(coll string) (bson.D, error) {
		d, err := q.document("document")
		return bson.D{{"update", coll}, {"updates", bson.A{bson.D{{"q", bson.D{{"_id", q.body.Get("id")}}}, {"u", d}}}}}, err
	})
}

// deleteDocument deletes a document, found by its _id.
func deleteDocument(q *query) (any, error) {
	return q.change(func(coll string) (bson.D, error) {
		return bson.D{{"delete", coll}, {"deletes", bson.A{bson.D{{"q", bson.D{{"_id", q.body.Get("id")}}}, {"limit", 1}}}}}, nil
	})
}
