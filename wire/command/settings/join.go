package settings

import (
	"time"

	"github.com/cantledb/cantle/bson"
)

// join registers the settings and hooks of the room at the server.
func (s *State) join() {
	s.params.init()
	if s.ReplyCharge {
		s.params.now[s.params.at["replyCharge"]].num = 1
		s.ChargeReplies.Store(true)
	}
	s.LoadSetting("the cluster parameters", &s.clusterSettings.Setting, clusterParamsName, func(doc bson.Raw) {
		s.clusterSettings.apply(doc)
		if s.attached.Load() {
			s.clusterSettings.applyTo(s.Cluster)
		}
	})
	s.LoadSetting("the default concerns", &s.rwDefaults.Setting, rwDefaultsName, s.rwDefaults.apply)
	s.LoadSetting("the feature compatibility version", &s.fcv, fcvName, s.applyFCV)
	s.Hooks.DefaultConcerns = s.rwDefaults.fill
	s.Hooks.ReadLimit = func() time.Duration { return time.Duration(s.clusterSettings.readMillis.Load()) * time.Millisecond }
	s.Hooks.Attached = func() {
		s.clusterSettings.Lock()
		defer s.clusterSettings.Unlock()
		s.attached.Store(true)
		s.clusterSettings.applyTo(s.Cluster)
	}
	s.Hooks.Parameter = s.params.number
}
