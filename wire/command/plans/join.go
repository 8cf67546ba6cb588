package plans

import (
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
	"github.com/cantledb/cantle/wire/virtual"
)

// join registers the settings, hooks and stages of the room at the server.
func (s *State) join() {
	s.LoadSetting("the query settings", &s.querySettings.Setting, querySettingsName, s.applyStoredQuerySettings)
	s.Hooks.HasSettings = s.querySettings.mayApply
	s.Hooks.ApplySettings = func(c *command.Call, x *explained.Explained) error { return s.applyQuerySettings(c, x) }
	s.Hooks.Explain = func(c *command.Call, x *explained.Explained) error { return s.explain(c, x) }
	s.Stages.Add(
		virtual.Stage{Name: "$planCacheStats", Docs: s.planCacheDocs},
		virtual.Stage{Name: "$querySettings", Docs: s.querySettingsDocs},
	)
}
