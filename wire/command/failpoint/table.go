package failpoint

import "github.com/cantledb/cantle/wire/command"

// Commands returns the rows of the room, in alphabetical order.
func (s *State) Commands() []command.Def {
	return []command.Def{
		{Name: "configureFailPoint", Run: s.runConfigureFailPoint, Action: "setParameter", Facts: command.AdminOnly | command.Silent, Doc: "reference/parameters"},
	}
}
