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
	s.Keep("the cluster parameters", &s.clusterSettings.Setting, clusterParamsName, func(doc bson.Raw) {
		s.clusterSettings.take(doc)
		if s.attached.Load() {
			s.clusterSettings.takeEffect(s.Cluster)
		}
	})
	s.Keep("the default concerns", &s.rwDefaults.Setting, rwDefaultsName, s.rwDefaults.take)
	s.Keep("the feature compatibility version", &s.fcv, fcvName, s.takeFCV)
	s.Hooks.DefaultConcerns = s.rwDefaults.fill
	s.Hooks.ReadLimit = func() time.Duration { return time.Duration(s.clusterSettings.readMillis.Load()) * time.Millisecond }
	s.Hooks.Attached = func() {
		s.clusterSettings.Lock()
		defer s.clusterSettings.Unlock()
		s.attached.Store(true)
		s.clusterSettings.takeEffect(s.Cluster)
	}
	s.Hooks.Parameter = s.params.number
}
