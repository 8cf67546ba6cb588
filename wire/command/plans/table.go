package plans

import "github.com/cantledb/cantle/wire/command"

// Commands returns the rows of the room, in alphabetical order.
func (s *State) Commands() []command.Def {
	return []command.Def{
		{Name: "explain", Parse: s.parseExplain, Action: "user",
			Facts: command.Stable, ReadConcern: command.NotSnapshot, Doc: "reference/command/explain"},
		{Name: "planCacheClear", Run: runPlanCacheClear, Namespace: command.FirstField, Action: "planCacheWrite", Doc: "reference/command/planCacheClear"},
		{Name: "planCacheClearFilters", Run: runPlanCacheClear, Namespace: command.FirstField, Action: "planCacheIndexFilter", Doc: "reference/command/planCacheClearFilters"},
		{Name: "planCacheListFilters", Run: runPlanCacheListFilters, Namespace: command.FirstField, Action: "planCacheIndexFilter", Doc: "reference/command/planCacheListFilters"},
		{Name: "planCacheSetFilter", Run: runPlanCacheSetFilter, Namespace: command.FirstField, Action: "planCacheIndexFilter", Doc: "reference/command/planCacheSetFilter"},
		{Name: "removeQuerySettings", Run: s.runRemoveQuerySettings, Action: "querySettings", Facts: command.AdminOnly | command.Silent, Since: "8.0", Doc: "reference/command/removeQuerySettings"},
		{Name: "setQuerySettings", Run: s.runSetQuerySettings, Action: "querySettings", Facts: command.AdminOnly | command.Silent, Since: "8.0", Doc: "reference/command/setQuerySettings"},
	}
}
