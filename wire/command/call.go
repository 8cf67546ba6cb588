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
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/concern"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/operations"
	"github.com/cantledb/cantle/wire/session"
)

// Call holds the state of one running command. Values in it that point into the bytes of the request are invalid
// after the command has ended.
type Call struct {
	Server    *Server
	Cluster   *cluster.Cluster // the server's
	Ctx       context.Context
	Conn      wire.Conn
	ConnState *ConnState // the state of the client connection
	Def       *Def
	arguments.Reader
	Value bson.Value // of the first field of Body
	DB    string
	Reply *bson.Builder
	Out   *wire.Reply

	Op           cluster.Op
	requestUnits ratelimit.MicroRU // the argument maxRequestUnits; 0 without it
	Args         session.Args
	Session      *session.Session // checked out: a transaction or retryable write
	Start        time.Time
	// secondaryOK: the read preference admits a secondary. awaited is the time that a read of a secondary waits for, 0 =
	// none.
	secondaryOK bool
	awaited     storage.Timestamp
	// Time is the timestamp of the newest commit when the command arrived: $$CLUSTER_TIME. advanceTime may replace it
	// by a later timestamp.
	Time storage.Timestamp

	WriteConcern concern.Write
	ReadConcern  string // as the client sent it
	ReadDefault  string // used if the client sent none; see setDefaultRWConcern
	Comment      bson.Value
	API          session.API

	// ForcedUUID is the UUID of the collection that the command creates; zero for a random UUID.
	ForcedUUID [16]byte

	results statementResults // of a retryable write or a transaction
	hasOK   bool             // the reply already contains ok: see respond
	writes  bool             // the command writes, or puts what it reads into a collection
	inWrite bool             // fsync and other locks against writes wait for the command
	began   bool             // its checks have passed: an error may have a writeConcernError beside it
	// hottestNamed is true once an error of the command names the shard key value with the highest charges.
	hottestNamed bool
	Page         Page // the batch that a getMore returns
	// Run is the execution to which the command belongs, if $queryStats counts it; else nil.
	Run cursor.Observer
	// Returned is the number of documents in the batch of the reply.
	Returned int64

	BodyAt int // the offset in the reply where its elements begin

	cachedOutline cachedOutline // the outline of the pipeline of an aggregate, or of a command that is explained or defined
	resolved      struct {      // the collection that a UUID names, looked up once
		uuid [16]byte
		ns   collection.Namespace
	}
	rawData bool    // the argument rawData: see Namespace
	request Request // returned by Parse; nil in a row without Parse
	unread  error   // the error of Parse

	Running    operations.Operation // its entry in the list of running commands
	privileges PrivilegeCheck       // memory that authorize reuses

	// Memory of the language environment, reused by later commands. If a cursor outlives the command, the cursor
	// keeps the whole Call: then retained is true and the Call is not reused.
	env      mql.Env
	vars     mql.Vars
	memory   *mql.Memory
	lane     mql.SlotHolder
	scripts  *storedScripts
	row      exec.RowMemory
	retained bool

	Injected Injected // effects that a fail point requests
	// ConcernError is the writeConcernError of a command that succeeds, nil without an error.
	ConcernError bson.Raw
}

// Page describes the batch that a getMore returns: the results belong to the command that opened the cursor.
type Page struct {
	Opened   bson.Raw              // the command that opened the cursor; nil for another command
	OfStream bool                  // the cursor belongs to a change stream
	Charge   int64                 // the charge of this batch, in micro request units
	Cap      *ratelimit.RequestCap // of the command that opened the cursor; nil for none
}

// Panic makes the command panic once it has its session.
func (i *Injected) Panic() { i.panics = true }

func (i *Injected) trigger() {
	if i.panics {
		panic("a fail point has asked for it")
	}
}

// Injected holds the effects of a fail point on a command, besides the error that the fail point returns.
type Injected struct {
	// Failed is true if a fail point injected the error of the command.
	Failed    bool
	panics    bool
	HangUp    bool            // close the connection instead of replying
	Labels    mongoerr.Labels // error labels in place of the usual ones, if HasLabels
	HasLabels bool
}

// Env returns the language environment of the command.
func (c *Call) Env() *mql.Env { return c.Op.Env }

// LeaveWrite declares that the command will not write any more, so that fsync and other locks against writes no
// longer wait for this command. If the command did not enter as a write, LeaveWrite does nothing.
func (c *Call) LeaveWrite() {
	if c.inWrite {
		c.inWrite = false
		c.Server.WriteGate.LeaveWrite()
	}
}

// CopiesRows declares that the command has a single result stream and copies each row as it arrives. The stream then
// reuses the memory of a row for the next row.
func (c *Call) CopiesRows() { c.Op.Row = &c.row }

// Name returns the canonical name of the command.
func (c *Call) Name() string { return c.Def.Name }

// Become sets the command of the call: its row is def, its arguments are body. It also replaces a command by the one
// inside an explain, or by a part of the command.
func (c *Call) Become(def *Def, body bson.Raw) {
	first, _ := body.First()
	c.Def, c.Command, c.Body, c.Value = def, def.Name, body, first.Value
}

// BecomePart sets the command of the call to a part of the command.
func (c *Call) BecomePart(p *Part) {
	c.Become(p.Def, p.Body)
	c.rawData = c.rawData || p.rawData
}

// Namespace returns the namespace that the first field of the command names, as "coll" or as "db.coll" by its row.
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
	return c.Buckets(ns), collection.CheckNamespace(ns)
}

// ReadNamespace returns the namespace of a read. It accepts what Namespace accepts, and a collection's UUID.
func (c *Call) ReadNamespace() (collection.Namespace, error) {
	if !isUUID(c.Value) {
		return c.Namespace()
	}
	ns := c.byUUID(c.DB, c.Value)
	if ns.Coll == "" {
		// A user without the privilege useUUID gets Unauthorized, so that the error does not show which UUIDs exist.
		if err := c.Require(func(q *PrivilegeCheck) { q.needUUID() }); err != nil {
			return ns, err
		}
		_, b, _ := c.Value.Binary()
		return ns, mongoerr.New(mongoerr.NamespaceNotFound, "Unable to resolve %x", b)
	}
	return c.Buckets(ns), nil
}

// isUUID reports whether a value is a UUID, which can name a collection in place of a string.
func isUUID(v bson.Value) bool {
	sub, b, ok := v.Binary()
	return ok && sub == 4 && len(b) == 16
}

// byUUID returns the namespace of the collection with a UUID in a database. If there is no such collection, the
// namespace has no Coll. The last result is cached, so that the authorization and the execution of a command use the
// same collection.
func (c *Call) byUUID(db string, v bson.Value) collection.Namespace {
	_, b, _ := v.Binary()
	if x := &c.resolved; x.ns.DB != db || string(x.uuid[:]) != string(b) {
		x.uuid, x.ns = [16]byte(b), collection.Namespace{DB: db}
		for _, coll := range c.Cluster.Catalog().Collections(db) {
			if coll.UUID == x.uuid {
				x.ns = coll.Namespace
			}
		}
	}
	return c.resolved.ns
}

// OKAsInt ends a reply with an integer ok, as MongoDB does for a distinct that it runs as an aggregate.
// Observed: MongoDB 8.2.
func (c *Call) OKAsInt() {
	c.Reply.Int32("ok", 1)
	c.hasOK = true
}

// Collection returns the catalog entry of a collection, and refuses views.
// Errors: NamespaceNotFound (26), CommandNotSupportedOnView (166).
func (c *Call) Collection(ns collection.Namespace) (*catalog.Collection, error) {
	coll, err := c.Cluster.Catalog().Lookup(ns)
	if err != nil {
		return nil, err
	}
	if coll.IsView() {
		return nil, mongoerr.ViewNotAllowed(ns.String())
	}
	return coll, nil
}
