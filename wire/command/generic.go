package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// readOption reads a rare argument that every command takes: rawData or maxRequestUnits.
// Errors: TypeMismatch (14), the errors of LimitRequestUnits.
func (c *Call) readOption(name string, v bson.Value) (err error) {
	if name == "rawData" {
		c.rawData, err = c.StrictBool(name, v)
		return err
	}
	return c.LimitRequestUnits(v)
}

// checkConcerns refuses a read or write concern on a command that does not accept it. Inside a transaction it does
// not check the read concern: checkTxn does.
// Errors: InvalidOptions (72).
func (c *Call) checkConcerns() error {
	if c.WriteConcern.Given && !c.Def.TakesWriteConcern() {
		return mongoerr.New(mongoerr.InvalidOptions, "Command does not support writeConcern")
	}
	if c.Args.InTxn {
		return nil
	}
	refused := false
	switch c.ReadConcern {
	case "", "local":
	case "snapshot":
		refused = c.Def.ReadConcern != AnyLevel
	default:
		refused = c.Def.ReadConcern == OnlyLocal
	}
	if refused {
		return mongoerr.New(mongoerr.InvalidOptions, "Command %s does not support { readConcern: { level: \"%s\" } }", c.Name(), c.ReadConcern)
	}
	return nil
}
