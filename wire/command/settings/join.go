package settings

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/command"
)

// join registers the room as the Settings of the server, and loads the stored settings: cluster parameters, default
// concerns, feature compatibility version.
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
	s.Settings = s
}

// FillConcerns sets the default read and write concern on a command that has none.
func (s *State) FillConcerns(c *command.Call) { s.rwDefaults.fill(c) }

// ReadLimit returns the time limit of Limited commands without maxTimeMS, from the cluster parameters; 0 for no limit.
// The Cosmos listener does not use it.
func (s *State) ReadLimit() time.Duration {
	return time.Duration(s.clusterSettings.readMillis.Load()) * time.Millisecond
}

// RequestUnits returns the default caps of commands and what happens there, from the cluster parameters: the caps of all
// commands, and of those of an application; 0 for none.
func (s *State) RequestUnits(appName string) (all, app ratelimit.MicroRU, then ratelimit.RunawayRule) {
	p := s.clusterSettings.caps.Load()
	if p == nil {
		return 0, 0, then
	}
	return p.commands, p.applications[appName], p.then
}

// RunawayWatch returns the number of killed commands of one kind after which that kind is rejected, 0 for never, for how long,
// and the kind, from the cluster parameters.
func (s *State) RunawayWatch() (after int64, d time.Duration, kind string) {
	p := s.clusterSettings.caps.Load()
	if p == nil {
		return 0, 0, ""
	}
	return p.watchAfter, time.Duration(p.watchSecs) * time.Second, p.watchKind
}

// Attached applies the stored cluster parameters to the cluster, to which the server has just been attached. From now
// on, each change of a parameter is applied too.
func (s *State) Attached() {
	s.clusterSettings.Lock()
	defer s.clusterSettings.Unlock()
	s.attached.Store(true)
	s.clusterSettings.applyTo(s.Cluster)
}
