package settings

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runSetParameter changes all given parameters or, if one of them is invalid, none. The reply contains the old value
// of the first.
// Manual: reference/command/setParameter.
func (s *State) runSetParameter(c *command.Call) error {
	type change struct {
		i  int
		to setting
		v  bson.Value
	}
	var changes []change
	p := &s.params
	p.mu.Lock()
	defer p.mu.Unlock()
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		i, ok := p.at[name]
		if !ok {
			return true, mongoerr.New(mongoerr.InvalidOptions, "attempted to set unrecognized parameter [%s], use help:true to see options ", name)
		}
		d := &p.defs[i]
		if name == "featureCompatibilityVersion" {
			return true, mongoerr.New(mongoerr.IllegalOperation, "featureCompatibilityVersion cannot be set via setParameter, use setFeatureCompatibilityVersion")
		}
		if d.when&atRuntime == 0 {
			return true, mongoerr.New(mongoerr.InvalidOptions, "not allowed to change [%s] at runtime", name)
		}
		ch := change{i: i, v: v}
		var err error
		if d.set != nil {
			err = d.set(s, v, true)
		} else {
			ch.to, err = d.convert(v)
		}
		changes = append(changes, ch)
		return true, err
	})
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return mongoerr.New(mongoerr.InvalidOptions, "no option found to set, use help:true to see options ")
	}
	p.appendValue(s, c, "was", changes[0].i)
	for _, ch := range changes {
		d := &p.defs[ch.i]
		if d.set != nil {
			if err := d.set(s, ch.v, false); err != nil {
				return err
			}
			continue
		}
		p.now[ch.i] = ch.to
		if d.apply != nil {
			d.apply(s, ch.to.num)
		}
	}
	return nil
}
