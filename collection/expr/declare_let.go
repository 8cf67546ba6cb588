package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// DeclareLet evaluates the variables of a command's `let` document and declares them in env.Vars, in order, so
// that each may use the previous ones.
// Errors: FailedToParse (9) for bad names; 4890500 for an expression that reads a field; ExceededMemoryLimit (146);
// errors of the expressions.
func DeclareLet(env *mql.Env, d bson.Raw) error {
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		if err := checkVariable(name, true); err != nil {
			return err
		}
		e, err := Parse(env, it.Value)
		if err != nil {
			return err
		}
		needsDoc := false
		e.Paths(func(string) { needsDoc = true })
		if needsDoc {
			return mongoerr.New(4890500, "Command let Expression tried to access a field, but this is not allowed because command let Expressions run before the query examines any documents.")
		}
		var s Scratch
		x, err := e.Eval(env, bson.Empty, &s)
		if err != nil {
			return err
		}
		// The variable's value lives as long as the command and counts in its memory.
		if err := env.Memory.GrowValues(len(x.Data), "a variable of let"); err != nil {
			return err
		}
		env.Vars.Set(env.Vars.Declare(name), x.Clone())
		s.Close()
	}
	return nil
}
