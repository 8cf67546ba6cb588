package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// deleteRequest is a delete with parsed arguments.
type deleteRequest struct{ statements }

// parseDelete reads the arguments of delete.
func parseDelete(c *command.Call) (command.Request, error) {
	s, err := parseStatements(c, "deletes", func(d bson.Raw) (statementArgs, error) { return deleteStatement(c, d) })
	if err != nil {
		return nil, err
	}
	return &deleteRequest{s}, nil
}

// Needs notes no privilege: a delete needs only remove, which its row has, and deleted documents are not validated.
func (s *deleteRequest) Needs(*command.PrivilegeCheck) {}

// Run answers delete. Manual: reference/command/delete.
func (s *deleteRequest) Run(c *command.Call) error {
	c.Server.Stats.Delete.Add(int64(len(s.list)))
	var n int64
	errs, err := runStatements(c, &s.statements, nil, func(_ int, r cluster.Modified) { n += r.Changed })
	if err != nil {
		return err
	}
	c.Reply.Int("n", n)
	writeErrors(c, errs)
	c.AppendRetried()
	return nil
}

// deleteStatement reads one member of deletes.
func deleteStatement(c *command.Call, d bson.Raw) (a statementArgs, err error) {
	err = arguments.EachField(d, "delete.deletes", func(name string, v bson.Value) (known bool, err error) {
		known = true
		switch name {
		case "q":
			a.q = v
			if v.Type != bson.TypeDocument {
				err = mongoerr.WrongType("delete.deletes.q", v.Type.String(), "object")
			}
		case "limit":
			a.hasLimit = true
			n, ok := v.AsInt64()
			if !ok && v.IsNumber() || n != 0 && n != 1 {
				err = mongoerr.New(mongoerr.FailedToParse, "The limit field in delete objects must be 0 or 1. Got %s", v)
			} else if !v.IsNumber() {
				err = mongoerr.WrongType("delete.deletes.limit", v.Type.String(), "int", "decimal", "double", "long")
			}
			a.limit = n
		case "hint":
			a.hint, err = c.HintArg(v)
		case "collation":
			a.collation = v
		case "sampleId":
		default:
			known = false
		}
		return known, err
	})
	switch {
	case err != nil:
		return a, err
	case a.q.IsMissing():
		return a, mongoerr.MissingField("delete.deletes.q")
	case !a.hasLimit:
		return a, mongoerr.MissingField("delete.deletes.limit")
	}
	a.multi = a.limit == 0
	return a, nil
}
