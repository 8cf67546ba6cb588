package console

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/auth"
)

// route is one address of the API. GET routes change nothing.
type route struct {
	method, path string
	answer       func(*query) (any, error)
	doc          string // as in docs/console.md
}

// routes are the addresses of the API, below /api/v1.
func (c *Console) routes() []route {
	return []route{
		{"GET", "/bill", bill, "what users, applications, buckets, collections, shapes or values have cost (by, month or from and to, top, format=csv)"},
		{"GET", "/collections", collections, "every database and collection: shard key, throughput, partitions, documents, bytes, sizes on disk"},
		{"GET", "/collection", oneCollection, "one collection (ns): options, indexes with use and size on disk, statistics"},
		{"GET", "/disk", disk, "disk usage of the server, and whether writes are refused for lack of space"},
		{"GET", "/events", events, "splits, merges, reshards and changes of throughput (ns, from, to)"},
		{"GET", "/heat", heat, "one metric of every partition of a collection over time (ns, metric, from, to)"},
		{"GET", "/lines", lines, "the load of the whole server over time (from, to)"},
		{"GET", "/log", lastLog, "the last lines of the log (lines, after: those after a number of lines)"},
		{"GET", "/operations", operations, "running commands, idle cursors, sessions, transactions and jobs"},
		{"GET", "/partitions", partitions, "keys, sizes, RU/s, refusals and most expensive values of each partition (ns, top)"},
		{"GET", "/recorded", recorded, "the fields that recorded statements specify, as candidates for a shard key (ns)"},
		{"GET", "/requests", requests, "the cost of commands by their shape (ns, top, history=1: by the minute)"},
		{"GET", "/requests/range", shapes, "the cost of commands by their shape in a time, and in the time before (ns, from, to, top)"},
		{"GET", "/server", c.about, "version, settings and the rights of the user; needs no login"},
		{"GET", "/status", status, "memory, processor time, disk, cache, connections, cursors, transactions, backups and jobs of the server"},
		{"GET", "/warnings", warnings, "warnings, each with the view that shows it"},
		{"POST", "/advise", advise, "candidate shard keys of a collection, ranked (ns): cantle advise"},
		{"POST", "/aggregate", aggregate, "the results of a pipeline that reads, a page at a time, with their charge (ns, pipeline, limit)"},
		{"POST", "/collection/index", createIndex, "creates an index (ns, key, options)"},
		{"POST", "/cursor/close", closeCursor, "closes a cursor of /find or /aggregate (ns, cursor)"},
		{"POST", "/cursor/next", nextPage, "the next page of /find or /aggregate (ns, cursor, limit)"},
		{"POST", "/documents/delete", deleteDocument, "deletes a document by _id (ns, id); needs --console-write"},
		{"POST", "/documents/insert", insertDocument, "inserts a document (ns, document); needs --console-write"},
		{"POST", "/documents/replace", replaceDocument, "replaces a document by _id (ns, id, document); needs --console-write"},
		{"POST", "/estimate", estimate, "the cost of a workload (document, args): cantle estimate"},
		{"POST", "/explain", explain, "the plan of a query or pipeline and its itemised charge (ns, filter, sort, projection or pipeline; run)"},
		{"POST", "/find", find, "documents, a page at a time, with their charge (ns, filter, sort, projection, skip, limit, cursor)"},
		{"POST", "/login", c.logIn, "logs a user in (user, password, db) and sets a cookie"},
		{"POST", "/logout", c.logOut, "ends the login"},
		{"POST", "/operations/kill", killOperation, "ends a running command (id)"},
		{"POST", "/partitions/merge", mergePartitions, "merges cold neighbours (ns, whatIf)"},
		{"POST", "/partitions/redistribute", redistribute, "moves RU/s between partitions (ns, targets, sources, or equal)"},
		{"POST", "/partitions/split", splitPartition, "splits a partition in two (ns, id)"},
		{"POST", "/replay", replay, "recorded traffic against another throughput, number of partitions or shard key (ns, ru, partitions, shardKey, from, to)"},
		{"POST", "/throughput", setThroughput, "changes the throughput of a collection (ns, manual or autoscale)"},
	}
}

// query is one request to the API.
type query struct {
	*Console
	*http.Request
	w    http.ResponseWriter
	conn *localConn
	body bson.Raw // of a POST
}

// Handler returns the handler of all addresses.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range c.routes() {
		mux.HandleFunc(r.method+" /api/v1"+r.path, func(w http.ResponseWriter, req *http.Request) { c.answer(w, req, r) })
	}
	mux.HandleFunc("GET /api/v1/live", c.live)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, mongoerr.New(mongoerr.BadValue, "There is no %s %s; docs/console.md lists the API", r.Method, r.URL.Path))
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", c.readyz)
	if c.Docs != nil {
		mux.Handle("GET /docs/", http.StripPrefix("/docs/", c.documentation()))
		mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusMovedPermanently))
	}
	mux.Handle("/", page())
	return c.guard(mux)
}

// readyz reports whether the server takes commands.
func (c *Console) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := c.Ready(); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, err.Error()+"\n")
		return
	}
	io.WriteString(w, "ready\n")
}

// answer runs one route.
func (c *Console) answer(w http.ResponseWriter, r *http.Request, to route) {
	w.Header().Set("Cache-Control", "no-store")
	q := &query{Console: c, Request: r, w: w}
	var err error
	if q.conn, err = c.open(r); err != nil && to.anonymous() {
		err = nil
	}
	if q.conn != nil {
		defer q.conn.hangUp()
	}
	if err == nil && r.Method == http.MethodPost {
		err = q.read()
	}
	var out any
	if err == nil {
		out, err = to.answer(q)
	}
	if err != nil {
		failed(w, err)
		return
	}
	if f, ok := out.(download); ok {
		w.Header().Set("Content-Type", f.kind)
		w.Header().Set("Content-Disposition", `attachment; filename="`+f.name+`"`)
		_ = f.write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(out) // an error means that the client has disconnected
}

// anonymous reports whether the route needs no login.
func (r *route) anonymous() bool {
	return r.path == "/server" || r.path == "/login" || r.path == "/logout"
}

// read reads the body of a POST request, which may be Extended JSON or the syntax of the MongoDB shell, into q.body.
// An empty body is an empty document.
// Errors: FailedToParse (9); BSONObjectTooLarge (10334) for more than bodyMax bytes.
func (q *query) read() error {
	text, err := io.ReadAll(http.MaxBytesReader(q.w, q.Body, bodyMax))
	if err != nil {
		return mongoerr.New(mongoerr.BSONObjectTooLarge, "The request has more than %d bytes", bodyMax)
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		text = []byte("{}")
	}
	q.body, err = parse(string(text))
	return err
}

// parse reads a document. Errors: FailedToParse (9).
func parse(text string) (bson.Raw, error) {
	d, err := ejson.Parse(text)
	if err != nil {
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s", strings.TrimPrefix(err.Error(), "ejson: "))
	}
	return d, nil
}

// runCommand runs a command in the name of the user.
func (q *query) runCommand(db string, command bson.D) (bson.Raw, error) {
	return q.conn.runCommand(q.Context(), db, command.Doc())
}

// namespace reads the argument ns of a request, a collection's name such as test.orders, from the address or the
// body.
// Errors: BadValue (2), InvalidNamespace (73).
func (q *query) namespace() (collection.Namespace, error) {
	text := q.text("ns")
	ns := collection.ParseNamespace(text)
	if text == "" || ns.Coll == "" {
		return ns, mongoerr.New(mongoerr.BadValue, "ns is a database and a collection, as in test.orders")
	}
	return ns, collection.CheckNamespace(ns)
}

// text returns a text argument, "" if it is missing.
func (q *query) text(name string) string {
	if q.body != nil {
		s, _ := q.body.Get(name).Str()
		return s
	}
	return q.Request.URL.Query().Get(name)
}

// number returns an integer argument, or the value otherwise if it is missing. Errors: BadValue (2) for an argument
// that is no integer, or a result below least or above most.
func (q *query) number(name string, otherwise, least, most int64) (int64, error) {
	n := otherwise
	if q.body != nil {
		if v := q.body.Get(name); !v.IsNullish() {
			i, ok := v.AsInt64()
			if !ok {
				return 0, mongoerr.New(mongoerr.BadValue, "%s is a whole number", name)
			}
			n = i
		}
	} else if s := q.text(name); s != "" {
		i, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, mongoerr.New(mongoerr.BadValue, "%s is a whole number", name)
		}
		n = i
	}
	if n < least || n > most {
		return 0, mongoerr.New(mongoerr.BadValue, "%s is from %d to %d", name, least, most)
	}
	return n, nil
}

// document returns an argument of the request's body that is a document, or a text in the syntax of the shell that
// contains one. For any other argument, or none, it returns the empty document.
// Errors: FailedToParse (9).
func (q *query) document(name string) (bson.Raw, error) {
	v := q.body.Get(name)
	if d, ok := v.Doc(); ok {
		return d, nil
	}
	if s, ok := v.Str(); ok && strings.TrimSpace(s) != "" {
		d, err := parse(s)
		if err != nil {
			return nil, mongoerr.New(mongoerr.FailedToParse, "%s: %s", name, err)
		}
		return d, nil
	}
	return bson.Empty, nil
}

// mayLoad refuses the request of a user that may not see the load of the whole server.
// Errors: Unauthorized (13).
func (q *query) mayLoad() error {
	if !q.Server.RequireAuth || q.conn.login().Allows().MayCluster(auth.ServerStatus) {
		return nil
	}
	return mongoerr.New(mongoerr.Unauthorized, "Seeing the load of the whole server needs the privilege serverStatus, which the role clusterMonitor has")
}

// mayNamespace refuses the request of a user that may see neither the load of the whole server nor the statistics of
// this collection.
// Errors: Unauthorized (13).
func (q *query) mayNamespace(ns collection.Namespace) error {
	if q.mayLoad() == nil || q.conn.login().Allows().May(auth.CollStats, ns) {
		return nil
	}
	return mongoerr.New(mongoerr.Unauthorized, "Seeing the load of %s needs the privilege collStats, which the role read has", ns)
}

// raw returns a reply as JSON, without the fields for drivers.
func raw(reply bson.Raw) json.RawMessage {
	b := bson.NewBuilder(nil)
	for it := reply.Iter(); it.Next(); {
		switch string(it.Name) {
		case "ok", "$clusterTime", "operationTime":
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
	return json.RawMessage(ejson.String(b.Doc()))
}

// problem is the JSON form of an error.
type problem struct {
	Error struct {
		Code     int    `json:"code"`
		CodeName string `json:"codeName"`
		Message  string `json:"message"`
	} `json:"error"`
}

// fail answers with an error.
func fail(w http.ResponseWriter, status int, e *mongoerr.Error) {
	var p problem
	p.Error.Code, p.Error.CodeName, p.Error.Message = int(e.Code), e.Code.String(), e.Msg
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(p)
}

// failed answers an HTTP request with the error of a command, and the HTTP status that fits the error's code.
func failed(w http.ResponseWriter, err error) {
	e := mongoerr.From(err)
	status := http.StatusBadRequest
	switch {
	case e == errNoLogin, e.Code == mongoerr.AuthenticationFailed:
		status = http.StatusUnauthorized
	case e.Code == mongoerr.Unauthorized:
		status = http.StatusForbidden
	case e.Code == mongoerr.NamespaceNotFound:
		status = http.StatusNotFound
	case e.Code == ratelimit.CodeThrottled:
		status = http.StatusTooManyRequests
		w.Header().Set("Retry-After", "1")
	case e.Code == mongoerr.InternalError:
		status = http.StatusInternalServerError
	case errors.Is(err, context.Canceled):
		status = 499 // the client has disconnected
	}
	fail(w, status, e)
}
