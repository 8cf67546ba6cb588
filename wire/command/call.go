package command

import (
	"context"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/concern"
	"github.com/cantledb/cantle/wire/operations"
	"github.com/cantledb/cantle/wire/session"
)

// Call is one command being run. Everything in it that aliases the request is
// gone when the command ends.
type Call struct {
	Server  *Server
	Cluster *cluster.Cluster // the server's
	Ctx     context.Context
	Conn    wire.Conn
	Peer    *Peer // what the server remembers of the connection
	Def     *Def
	arguments.Reader
	Value bson.Value // of the first field of Body
	DB    string
	Reply *bson.Builder
	Out   *wire.Reply

	Op      cluster.Op
	Args    session.Args
	Session *session.Session // checked out: a transaction or retryable write
	Start   time.Time
	// Time is that of the newest commit when the command came: $$CLUSTER_TIME. The store is
	// asked once, as for an engine with a timestamp oracle that is a round trip.
	Time storage.Timestamp

	WriteConcern concern.Write
	ReadConcern  string // as the client says
	ReadDefault  string // when it says nothing: see setDefaultRWConcern
	Comment      bson.Value
	API          session.API

	// ForcedUUID is the UUID of the collection that the command makes; zero: any.
	ForcedUUID [16]byte

	results statementResults // of a retryable write or a transaction
	hasOK   bool             // ok stands in the reply already: see respond
	writes  bool             // it writes, or puts what it reads into a collection
	inWrite bool             // whoever locks the server against writes waits for it
	Page    Page             // what a getMore is about

	BodyAt int // where the elements of the reply begin

	outlined outlined // the pipeline of an aggregate, or of what it explains or defines
	resolved struct { // the collection that a UUID names
		uuid [16]byte
		ns   collection.Namespace
	}
	request Request // what Parse has returned; nil in a row without it
	unread  error   // why Parse could not read the arguments

	Running    operations.Operation // its entry in the list of running commands
	privileges PrivilegeCheck       // memory of authorize

	// Memory of the environment. A cursor that outlives the command keeps all of
	// the Call alive: retained.
	env      mql.Env
	vars     mql.Vars
	memory   *mql.Memory
	lane     mql.Lane
	scripts  *storedScripts
	row      exec.RowMemory
	retained bool

	Injected Injected // what a fail point asks for
	// ConcernError is the writeConcernError of a command that succeeds, nil for none.
	ConcernError bson.Raw
}

// Page is what a getMore is about: the next page of the results of another command.
type Page struct {
	Opened   bson.Raw // the command that opened the cursor; nil for another command
	OfStream bool     // the cursor is that of a change stream
	Charge   int64    // what the page cost, in micro request units
}

// Panic makes the command panic once it has its session.
func (i *Injected) Panic() { i.panics = true }

func (i *Injected) strike() {
	if i.panics {
		panic("a fail point has asked for it")
	}
}

// Injected is what a fail point asks for, beside an error.
type Injected struct {
	// Failed: the error of the command is injected.
	Failed    bool
	panics    bool
	HangUp    bool            // to close the connection instead of replying
	Labels    mongoerr.Labels // instead of those the error would have
	HasLabels bool
}

// Env is the language environment of the command.
func (c *Call) Env() *mql.Env { return c.Op.Env }

// LeaveWrite says that the command will not write any more, if it ever did: whoever locks the
// server against writes does not wait for its end.
func (c *Call) LeaveWrite() {
	if c.inWrite {
		c.inWrite = false
		c.Server.Hooks.LeaveWrite()
	}
}

// CopiesRows says that the rows of the command's one stream are copied as they come.
func (c *Call) CopiesRows() { c.Op.Row = &c.row }

// Name is the command's canonical name.
func (c *Call) Name() string { return c.Def.Name }

// Become makes the call one of another command: what it asks for in the end, or a part of it.
func (c *Call) Become(def *Def, body bson.Raw) {
	first, _ := body.First()
	c.Def, c.Command, c.Body, c.Value = def, def.Name, body, first.Value
}

// Namespace is the collection that the first field names.
// Errors: InvalidNamespace (73), TypeMismatch (14).
func (c *Call) Namespace() (collection.Namespace, error) {
	if c.Def.Namespace == FullName {
		s, ok := c.Value.Str()
		if !ok {
			return collection.Namespace{}, mongoerr.WrongType(c.Name(), c.Value.Type.String(), "string")
		}
		ns := collection.ParseNamespace(s)
		return ns, collection.CheckNamespace(ns)
	}
	s, ok := c.Value.Str()
	if !ok {
		return collection.Namespace{}, mongoerr.New(mongoerr.InvalidNamespace, "collection name has invalid type %s", c.Value.Type)
	}
	ns := collection.Namespace{DB: c.DB, Coll: s}
	return ns, collection.CheckNamespace(ns)
}

// ReadNamespace is Namespace, which for reads may also name a collection by its
// UUID.
func (c *Call) ReadNamespace() (collection.Namespace, error) {
	if !isUUID(c.Value) {
		return c.Namespace()
	}
	ns := c.byUUID(c.DB, c.Value)
	if ns.Coll == "" {
		// Without useUUID the error must not show which UUIDs there are.
		if err := c.Require(func(q *PrivilegeCheck) { q.needUUID() }); err != nil {
			return ns, err
		}
		_, b, _ := c.Value.Binary()
		return ns, mongoerr.New(mongoerr.NamespaceNotFound, "Unable to resolve %x", b)
	}
	return ns, nil
}

// isUUID reports a value that can name a collection in place of text.
func isUUID(v bson.Value) bool {
	sub, b, ok := v.Binary()
	return ok && sub == 4 && len(b) == 16
}

// byUUID finds the collection of a database that a UUID names, once for a command: what was
// authorized is what runs. It has no Coll if there is none.
func (c *Call) byUUID(db string, v bson.Value) collection.Namespace {
	_, b, _ := v.Binary()
	if x := &c.resolved; x.ns.DB != db || string(x.uuid[:]) != string(b) {
		x.uuid, x.ns = [16]byte(b), collection.Namespace{DB: db}
		for _, coll := range c.Cluster.Catalog.Peek().Collections(db) {
			if coll.UUID == x.uuid {
				x.ns = coll.Namespace
			}
		}
	}
	return c.resolved.ns
}

// OKAsInt ends a reply with an integer ok, as MongoDB does where a distinct has become an
// aggregate. Observed: MongoDB 8.2.
func (c *Call) OKAsInt() {
	c.Reply.Int32("ok", 1)
	c.hasOK = true
}

// Collection finds a collection that is no view.
// Errors: NamespaceNotFound (26), CommandNotSupportedOnView (166).
func (c *Call) Collection(ns collection.Namespace) (*catalog.Collection, error) {
	coll, err := c.Cluster.Catalog.Peek().Lookup(ns)
	if err != nil {
		return nil, err
	}
	if coll.IsView() {
		return nil, mongoerr.ViewNotAllowed(ns.String())
	}
	return coll, nil
}
