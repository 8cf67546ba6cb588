package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// runDelete answers delete. Manual: reference/command/delete.
func runDelete(c *Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	w := writeArgs{ordered: true}
	err = c.Each(func(name string, v bson.Value) (bool, error) {
		switch name {
		case "deletes":
			return true, nil
		case "let":
			return true, c.setLet(v)
		}
		return c.writeArg(&w, name, v)
	})
	if err != nil {
		return err
	}
	docs, err := c.Docs("deletes", c.batchMax())
	if err != nil {
		return err
	}
	if len(docs) == 0 {
		return tooMany(c.batchMax(), 0)
	}
	statements := make([]statementArgs, len(docs))
	for i, d := range docs {
		if statements[i], err = c.deleteStatement(d); err != nil {
			return err
		}
	}
	c.stats.delete.Add(int64(len(docs)))
	var n int64
	var errs []mongoerr.WriteError
	for i := range statements {
		r, err := c.runStatement(ns, i, &statements[i], nil)
		if err != nil {
			if errs, err = c.statementError(errs, i, err); err != nil {
				return err
			}
			if w.ordered {
				break
			}
			continue
		}
		n += r.Changed
	}
	c.Reply.Int("n", n)
	c.writeErrors(errs)
	return nil
}

// deleteStatement reads one member of deletes.
func (c *Call) deleteStatement(d bson.Raw) (a statementArgs, err error) {
	err = eachField(d, "delete.deletes", func(name string, v bson.Value) (known bool, err error) {
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
			a.hint, err = c.hintArg(v)
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
