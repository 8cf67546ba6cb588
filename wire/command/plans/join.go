package plans

import (
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// join hands the room's answers to the server.
func (s *State) join() {
	s.Keep("the query settings", s.querySettings.load)
	s.Hooks.HasSettings = s.querySettings.concern
	s.Hooks.ApplySettings = func(c *command.Call, x *explained.Explained) error { return s.applyQuerySettings(c, x) }
	s.Hooks.Explain = func(c *command.Call, x *explained.Explained) error { return s.explain(c, x) }
	s.AddSources([]command.StageSource{
		{Stage: "$planCacheStats", Docs: s.planCacheDocs},
		{Stage: "$querySettings", Docs: s.querySettingsDocs},
	})
}
