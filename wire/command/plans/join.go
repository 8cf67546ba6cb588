package plans

import "github.com/cantledb/cantle/wire/virtual"

// join registers the room at the server: the stored query settings, the room as Planner, the statistics of
// executions, and its pipeline stages.
func (s *State) join() {
	s.LoadSetting("the query settings", &s.querySettings.Setting, querySettingsName, s.applyStoredQuerySettings)
	s.Planner = s
	s.stats.max = s.StatsBytes
	s.OnEnd(s.endStats)
	s.Stages.Add(
		virtual.Stage{Name: "$planCacheStats", Docs: s.planCacheDocs},
		virtual.Stage{Name: "$querySettings", Docs: s.querySettingsDocs},
		virtual.Stage{Name: "$queryStats", Docs: s.queryStatsDocs},
	)
}
