package command

import (
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
)

// storedScripts holds the JavaScript functions in the collection system.js of a database. They are read at the first
// script of a command, and again for another database. It is safe for concurrent use: shards run concurrently.
// Manual: tutorial/store-javascript-function-on-server.
type storedScripts struct {
	call *Call
	mu   sync.Mutex
	db   string   // db is the database whose functions were read; "" if none were
	all  bson.Raw // the functions of db
	// receipt is the charge of reading the functions; charged adds it to the charge of the command.
	receipt ratelimit.Meter
}

// reset drops the functions that an earlier command has read.
func (s *storedScripts) reset(c *Call) {
	s.call = c
	if s.db != "" {
		s.db, s.all = "", nil
		s.receipt.Reset(0, nil)
	}
}

// charged adds the charge for reading the functions to the receipt of the command, once.
func (s *storedScripts) charged(receipt *ratelimit.Meter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.receipt.Empty() {
		receipt.Merge(&s.receipt)
		s.receipt.Reset(0, nil)
	}
}

// Scripts returns the functions in system.js of env's database by name, nil if that collection does not exist. They
// are read from the newest state, also in a transaction, and charged to the command like any read of these documents.
//
// Errors: 10209 for a document without a name, 10210 for one without a value, 4546000 for code with scope,
// BSONObjectTooLarge (10334); errors of a read and of Memory.GrowRequired.
func (s *storedScripts) Scripts(env *mql.Env) (bson.Raw, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == env.DB {
		return s.all, nil
	}
	ns := collection.Namespace{DB: env.DB, Coll: "system.js"}
	var all bson.Raw
	if s.call.Cluster.Catalog().Collection(ns) != nil {
		var err error
		if all, err = s.read(env, ns); err != nil {
			return nil, err
		}
	}
	s.db, s.all = env.DB, all
	return all, env.Memory.GrowRequired(len(all), "functions of system.js")
}

func (s *storedScripts) read(env *mql.Env, ns collection.Namespace) (bson.Raw, error) {
	own := mql.NewEnv(env.Context())
	c := &s.call.Op
	op := &cluster.Op{Env: own, Class: c.Class, AppName: c.AppName, Strong: c.Strong, User: c.User, Unmetered: c.Unmetered}
	defer func() { s.receipt.Merge(&op.Receipt) }()
	stream, err := s.call.Cluster.Find(op, ns, plan.Find{})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	defer stream.Settle()
	b := bson.NewBuilder(nil)
	for {
		row, err := stream.Next(own)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return b.Doc(), nil
		}
		name, ok := row.Doc.Get("_id").Str()
		value, has := row.Doc.Lookup("value")
		switch {
		case !ok:
			return nil, mongoerr.New(10209, "a function in %s needs a string as its _id, which is its name", ns)
		case !has:
			return nil, mongoerr.New(10210, "the function %s in %s has no value", name, ns)
		case value.Type == bson.TypeCodeScope:
			return nil, mongoerr.New(4546000, "the function %s in %s is code with scope, which cannot be called; store it as code", name, ns)
		case b.Len()+len(value.Data) > bson.MaxDocumentBytes:
			return nil, mongoerr.DocumentTooLarge(b.Len()+len(value.Data), bson.MaxDocumentBytes)
		}
		b.Value(name, value)
	}
}
