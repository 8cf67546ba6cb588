package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// writeArgs holds the arguments that insert, update, delete and bulkWrite share.
type writeArgs struct {
	ordered bool
	bypass  bool // documents that are written are not validated
}

// needs notes the privilege to write to a namespace without validation.
func (w *writeArgs) needs(q *command.PrivilegeCheck, ns collection.Namespace) {
	if w.bypass {
		q.Need(auth.BypassDocumentValidation, ns)
	}
}

// finish applies the common arguments of a write command to its Call, after all arguments have been read.
func (w *writeArgs) finish(c *command.Call) {
	w.ordered = w.ordered || c.Args.InTxn // the first error ends a transaction
	c.Op.BypassValidation = w.bypass
}

// insertRequest is an insert with parsed arguments.
type insertRequest struct {
	ns   collection.Namespace
	docs []bson.Raw
	writeArgs
}

// parseInsert reads the arguments of insert.
func parseInsert(c *command.Call) (command.Request, error) {
	r := &insertRequest{writeArgs: writeArgs{ordered: true}}
	var err error
	if r.ns, err = c.Namespace(); err != nil {
		return nil, err
	}
	if err := c.MayWriteTo(r.ns, "insert into"); err != nil {
		return nil, err
	}
	err = c.ReadArgs(
		arguments.Ignored("documents"), // read below: it may be a document sequence
		arguments.StrictBool("ordered", &r.ordered),
		arguments.Bool("bypassDocumentValidation", &r.bypass),
		arguments.Bool("bypassEmptyTsReplacement", nil),
		c.ExpectUUID(r.ns),
	)
	if err != nil {
		return nil, err
	}
	r.finish(c)
	if r.docs, err = c.Docs("documents", c.BatchMax()); err != nil {
		return nil, err
	}
	if len(r.docs) == 0 {
		return nil, arguments.TooMany(c.BatchMax(), 0)
	}
	return r, c.Args.CheckStatements(len(r.docs))
}

// Needs notes the privilege to skip document validation, if the insert does; the privilege to insert is in the row.
func (r *insertRequest) Needs(q *command.PrivilegeCheck) { r.needs(q, r.ns) }

// Run answers insert. Manual: reference/command/insert.
func (r *insertRequest) Run(c *command.Call) error {
	ns, docs, w := r.ns, r.docs, &r.writeArgs
	tried := len(docs)
	defer func() { c.Server.Stats.Insert.Add(int64(tried)) }()
	if series := c.Cluster.Catalog().Series(ns); series != nil {
		n, errs, err := insertBuckets(c, series, docs, w.ordered)
		if err != nil {
			return err
		}
		c.Reply.Int32("n", int32(n))
		writeErrors(c, errs)
		return nil
	}
	todo, done, err := c.Remaining(docs)
	if err != nil {
		return err
	}
	c.Op.Record = c.Recorder(todo, func(*cluster.Modified) bson.Raw { return oneInserted })
	n, errs, err := c.Cluster.Insert(&c.Op, ns, command.Pick(docs, todo), w.ordered)
	if err == nil && done == 0 {
		if err = c.Op.WhollyRefused(n, len(todo), errs, w.ordered); err != nil {
			c.CountRefused(errs)
		}
	}
	if err != nil {
		return err
	}
	command.Renumber(errs, todo)
	if w.ordered && len(errs) > 0 {
		tried = int(errs[0].Index) + 1 // later documents were not tried
	}
	if len(errs) > 0 && abortsTxn(c, errs[0].Err) {
		return errs[0].Err
	}
	c.Reply.Int32("n", int32(n+done))
	writeErrors(c, errs)
	c.AppendRetried()
	return nil
}

// oneInserted is the recorded result of one inserted document.
var oneInserted = bson.Raw{12, 0, 0, 0, 0x10, 'n', 0, 1, 0, 0, 0, 0}

// writeErrorBytesMax bounds the texts of all write errors of one command together, in bytes: the reply must fit into
// a message. Further errors have only their code, as in MongoDB.
const writeErrorBytesMax = 1 << 20

// writeErrors appends writeErrors, if there are any.
func writeErrors(c *command.Call, errs []mongoerr.WriteError) {
	if len(errs) == 0 {
		return
	}
	c.Reply.BeginArray("writeErrors")
	start := c.Reply.Len()
	for i := range errs {
		c.StatementFailed(errs[i].Index, errs[i].Err)
		errs[i].Err = c.ThrottledStatement(errs[i].Err)
		if c.Reply.Len()-start > writeErrorBytesMax {
			errs[i].Err = mongoerr.New(errs[i].Err.Code, "")
		}
		c.Reply.BeginDoc("")
		c.Reply.Splice(errs[i].AppendTo(nil))
		c.Reply.End()
	}
	c.Reply.End()
}
