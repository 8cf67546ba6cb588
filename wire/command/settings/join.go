package settings

import "time"

// join hands the room's answers to the server.
func (s *State) join() {
	s.params.init()
	if s.ReplyCharge {
		s.params.now[s.params.at["replyCharge"]].num = 1
		s.ChargeReplies.Store(true)
	}
	s.Keep("the cluster parameters", s.clusterSettings.load)
	s.Keep("the default concerns", s.rwDefaults.load)
	s.Keep("the feature compatibility version", s.loadFCV)
	s.Hooks.DefaultConcerns = s.rwDefaults.fill
	s.Hooks.ReadLimit = func() time.Duration { return time.Duration(s.clusterSettings.readMillis.Load()) * time.Millisecond }
	s.Hooks.Attached = func() { s.clusterSettings.takeEffect(s.Cluster) }
	s.Hooks.Parameter = s.params.number
}
