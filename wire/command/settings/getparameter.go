package settings

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runGetParameter answers getParameter: several parameters by name, or all.
// Manual: reference/command/getParameter.
func (s *State) runGetParameter(c *command.Call) error {
	all, details := false, false
	when := uint8(0)
	if text, ok := c.Value.Str(); ok && c.Value.Type == bson.TypeString {
		all = text == "*"
	}
	if c.Value.Type == bson.TypeDocument {
		d, _ := c.Value.Doc()
		for it := d.Iter(); it.Next(); {
			var err error
			v := it.Value
			if v.IsNullish() {
				v = bson.Value{}
			}
			switch name := string(it.Name); name {
			case "allParameters":
				all, err = c.BoolArg(name, v)
			case "showDetails":
				details, err = c.BoolArg(name, v)
			case "setAt":
				var at string
				if at, err = c.StringArg(name, v); err == nil && !v.IsMissing() {
					switch at {
					case "startup":
						when = atStartup
					case "runtime":
						when = atRuntime
					default:
						err = mongoerr.BadEnum(c.Field(name), at)
					}
				}
			default:
				err = mongoerr.UnknownField(c.Field(name))
			}
			if err != nil {
				return err
			}
		}
	}
	p := &s.params
	p.mu.RLock()
	defer p.mu.RUnlock()
	found := false
	add := func(i int) {
		found = true
		d := &p.defs[i]
		if !details {
			p.appendValue(s, c, d.name, i)
			return
		}
		c.Reply.BeginDoc(d.name)
		p.appendValue(s, c, "value", i)
		c.Reply.Bool("settableAtRuntime", d.when&atRuntime != 0)
		c.Reply.Bool("settableAtStartup", d.when&atStartup != 0)
		c.Reply.End()
	}
	if all {
		for i := range p.defs {
			if when == 0 || p.defs[i].when&when != 0 {
				add(i)
			}
		}
		return nil
	}
	err := c.Each(func(name string, _ bson.Value) (bool, error) {
		if i, ok := p.at[name]; ok {
			add(i)
		}
		return true, nil
	})
	if err == nil && !found {
		err = mongoerr.New(mongoerr.InvalidOptions, "no option found to get")
	}
	return err
}
