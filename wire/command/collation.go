package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// SetCollation reads the argument collation of the command, and makes it the collation by which the command compares
// strings. A missing argument or an empty document changes nothing.
// Manual: reference/collation. Errors: errors of mql.ParseCollation and of the account's rules.
func (c *Call) SetCollation(v bson.Value) error {
	if v.IsMissing() {
		return nil
	}
	if v.Type != bson.TypeDocument {
		return mongoerr.WrongType(c.Field("collation"), v.Type.String(), "object")
	}
	if d, _ := v.Doc(); d.IsEmpty() {
		return nil
	}
	if err := c.Env().Cosmos.CheckRule(cosmos.Collations); err != nil {
		return err
	}
	col, err := mql.ParseCollation(v)
	if err != nil {
		return err
	}
	c.Env().Collation, c.Env().SimpleCollation = col, col == nil
	return nil
}
