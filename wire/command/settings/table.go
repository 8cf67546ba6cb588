package settings

import "github.com/cantledb/cantle/wire/command"

// Commands returns the rows of the room, in alphabetical order.
func (s *State) Commands() []command.Def {
	return []command.Def{
		{Name: "getClusterParameter", Run: s.runGetClusterParameter, Action: "getClusterParameter", Facts: command.AdminOnly | command.Silent, Since: "6.0", Doc: "reference/command/getClusterParameter"},
		{Name: "getDefaultRWConcern", Run: s.runGetDefaultRWConcern, Action: "getDefaultRWConcern", Facts: command.AdminOnly | command.Silent, Since: "4.4", Doc: "reference/command/getDefaultRWConcern"},
		{Name: "getParameter", Run: s.runGetParameter, Action: "getParameter", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/getParameter"},
		{Name: "setClusterParameter", Run: s.runSetClusterParameter, Action: "setClusterParameter", Facts: command.AdminOnly | command.Silent, Since: "6.0", Doc: "reference/command/setClusterParameter"},
		{Name: "setDefaultRWConcern", Run: s.runSetDefaultRWConcern, Action: "setDefaultRWConcern", Facts: command.AdminOnly | command.Writes | command.OwnConcern | command.Silent, Since: "4.4", Doc: "reference/command/setDefaultRWConcern"},
		{Name: "setFeatureCompatibilityVersion", Run: s.runSetFCV, Action: "setFeatureCompatibilityVersion", Facts: command.AdminOnly | command.Writes | command.Silent, Doc: "reference/command/setFeatureCompatibilityVersion"},
		{Name: "setParameter", Run: s.runSetParameter, Action: "setParameter", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/setParameter"},
	}
}
