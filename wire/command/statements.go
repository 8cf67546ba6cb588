package command

import "github.com/cantledb/cantle/bson"

// Statement returns the first statement of a batch command, such as an update, whose statements have queries; nil for
// other commands.
func (c *Call) Statement() (first bson.Raw) {
	if c.Def.Statements == "" || c.Def.Query == nil {
		return nil
	}
	c.EachStatement(func(d bson.Raw) bool {
		first = d
		return false
	})
	return first
}

// EachStatement visits the statements of a batch until visit returns false.
func (c *Call) EachStatement(visit func(d bson.Raw) bool) {
	if seq, ok := c.Msg.Sequence(c.Def.Statements); ok {
		for d := range seq.Docs() {
			if !visit(d) {
				return
			}
		}
		return
	}
	list, _ := c.Body.Get(c.Def.Statements).Array()
	for v := range list.Values() {
		if d, ok := v.Doc(); ok && !visit(d) {
			return
		}
	}
}
