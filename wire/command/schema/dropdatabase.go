package schema

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// runDropDatabase drops all collections of a database, and the database. Manual: reference/command/dropDatabase.
func runDropDatabase(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	v := c.Value
	switch n, ok := arguments.RoundedLong(v); {
	case v.IsNullish():
		return mongoerr.MissingField("dropDatabase.dropDatabase")
	case !ok:
		return mongoerr.WrongType("dropDatabase.dropDatabase", v.Type.String(), "long", "int", "decimal", "double")
	case n != 1:
		return mongoerr.New(5255100, "Have to pass 1 as 'dropDatabase' parameter")
	}
	if collection.IsInternal(c.DB) {
		return mongoerr.New(mongoerr.IllegalOperation, "Dropping the '%s' database is prohibited.", c.DB)
	}
	// A user without setThroughput that drops and recreates a database must not get a larger budget than the
	// administrator gave it: such a drop keeps the budget.
	keep := c.Server.RequireAuth && !c.ConnState.Login.Allows().May(auth.SetThroughput, collection.Namespace{DB: c.DB})
	existed, err := c.Server.DDL.DropDatabase(&c.Op, c.DB, keep)
	if existed {
		c.Reply.String("dropped", c.DB)
	}
	return err
}
