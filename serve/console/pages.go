package console

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// runMillis is the time limit of a query or pipeline of the console, with all of its pages.
const runMillis = 60_000

// pageMax is the maximum number of documents of a page.
const pageMax = 1000

// pageLimit reads the argument limit: the number of documents of a page.
func (q *query) pageLimit() (int64, error) { return q.number("limit", 20, 1, pageMax) }

// estimateInto fills the estimated charge of a command into the reply.
func (q *query) estimateInto(out *findReply, ns collection.Namespace, command bson.Raw) error {
	out.Documents, out.Estimate = []json.RawMessage{}, json.RawMessage("null")
	plan, err := q.runCommand(ns.DB, bson.D{{"explain", command}, {"verbosity", "queryPlanner"}})
	if err != nil {
		return err
	}
	if d, ok := plan.Get("requestChargeEstimate").Doc(); ok {
		out.Estimate = json.RawMessage(ejson.String(d))
	}
	return nil
}

// wholeBatch as the bytes of a page stands for all documents of a batch: its cursor does not return them again.
const wholeBatch = math.MaxInt

// readPage runs a command that opens or continues a cursor, and fills its documents, as far as addDocuments takes them,
// its charge and the cursor into the reply.
func (q *query) readPage(out *findReply, ns collection.Namespace, command bson.D, limit int64, most int) error {
	begun := q.Now()
	reply, err := q.runCommand(ns.DB, command)
	if err != nil {
		return err
	}
	out.Millis = float64(q.Now().Sub(begun).Microseconds()) / 1000
	out.Charge, _ = reply.Get("requestCharge").AsFloat()
	cursor, _ := reply.Get("cursor").Doc()
	if id, _ := cursor.Get("id").Int64(); id != 0 {
		out.Cursor, out.More = strconv.FormatInt(id, 10), true // text, because JavaScript's numbers have 53 bits
	}
	list, ok := cursor.Get("firstBatch").Array()
	if !ok {
		list, _ = cursor.Get("nextBatch").Array()
	}
	q.addDocuments(out, list, limit, most)
	return nil
}

// addDocuments adds documents to the reply, in the form that the request chooses: at most limit, and the first that have
// more than the given bytes together ends the page. It sets More if there are further ones.
func (q *query) addDocuments(out *findReply, list bson.Raw, limit int64, most int) {
	page, bytes := typedPage{typedPageMax}, 0
	for v := range list.Values() {
		d, _ := v.Doc()
		if bytes += len(d); int64(len(out.Documents)) >= limit || bytes > most && len(out.Documents) > 0 {
			out.More = true
			return
		}
		switch {
		case q.body.Get("typed").Truthy():
			out.Documents = append(out.Documents, page.document(d))
		case q.body.Get("canonical").Truthy():
			out.Documents = append(out.Documents, json.RawMessage(ejson.Canonical(d)))
		default:
			out.Documents = append(out.Documents, json.RawMessage(ejson.String(d)))
		}
	}
}

// cursorArgument reads the arguments ns and cursor. Errors: BadValue (2), InvalidNamespace (73).
func (q *query) cursorArgument() (ns collection.Namespace, id int64, err error) {
	if ns, err = q.namespace(); err != nil {
		return ns, 0, err
	}
	if id, err = strconv.ParseInt(q.text("cursor"), 10, 64); err != nil {
		return ns, 0, mongoerr.New(mongoerr.BadValue, "cursor is the number, as text, in a reply of /find or /aggregate")
	}
	return ns, id, nil
}

// nextPage returns the next documents of a cursor that /find or /aggregate has opened.
// Errors: CursorNotFound (43).
func nextPage(q *query) (any, error) {
	ns, id, err := q.cursorArgument()
	if err != nil {
		return nil, err
	}
	limit, err := q.pageLimit()
	if err != nil {
		return nil, err
	}
	out := findReply{Documents: []json.RawMessage{}, Estimate: json.RawMessage("null")}
	err = q.readPage(&out, ns, bson.D{{"getMore", id}, {"collection", ns.Coll}, {"batchSize", limit}, charged}, limit, wholeBatch)
	if err != nil && mongoerr.From(err).Code == mongoerr.CursorNotFound {
		err = mongoerr.New(mongoerr.CursorNotFound, "The server has closed the cursor, as after ten minutes without use: run the query again")
	}
	return out, err
}

// closeCursor closes a cursor that /find or /aggregate has opened.
func closeCursor(q *query) (any, error) {
	ns, id, err := q.cursorArgument()
	if err != nil {
		return nil, err
	}
	reply, err := q.runCommand(ns.DB, bson.D{{"killCursors", ns.Coll}, {"cursors", bson.A{id}}})
	if err != nil {
		return nil, err
	}
	return raw(reply), nil
}
