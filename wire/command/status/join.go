package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/virtual"
)

// join registers the room at the server: as WriteGate, Profiler and Usage, with its stored setting, calls of peers,
// observers, virtual collections and stages.
func (s *State) join() {
	s.WriteGate, s.Profiler, s.Usage = s, s, s
	s.LoadSetting("the block of users' writes", &s.writeBlock.Setting, writeBlockName, s.writeBlock.apply)
	s.Cluster.Peers.Handle(killKind, s.answerKill)
	s.Cluster.Peers.Handle(currentOpKind, s.answerCurrentOp)
	if !s.Cluster.Exclusive() {
		s.Ops.RandomizeIDs() // an operation of any server must have a different number for killOp
	}
	s.profiler.init(s.Profiling)
	s.slowWatch.check = s.logInProgress
	s.OnEnd(s.countCommand)
	s.OnEnd(s.profile)
	none := func() []bson.Raw { return nil }
	s.Virtual.Add(
		virtual.Collection{DB: "admin", Coll: "system.version", Docs: s.versionDocs},
		virtual.Collection{DB: "local", Coll: "oplog.rs", Docs: none}, // the cluster reads it by an operator of its own
		virtual.Collection{DB: "local", Coll: "startup_log", Docs: s.startupDocs},
		virtual.Collection{DB: "local", Coll: "system.replset", Docs: s.setDocs, WhenFilled: true},
	)
	s.Stages.Add(
		virtual.Stage{Name: "$currentOp", Docs: s.currentOpDocs},
	)
}

// countCommand counts a completed command and its duration, for opLatencies, for top and for Prometheus.
func (s *State) countCommand(c *command.Call, e command.Outcome) {
	s.observeDuration(c.Name(), e.Took)
	micros := max(e.Took.Microseconds(), 1)
	s.latencies[c.Def.Kind].add(micros)
	s.queryMemory.add(c.Progress().Memory.Load(), e.Err)
	if c.Running.NS.Coll != "" {
		s.usage.of(c.Running.NS).add(c, micros)
	}
}
