package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/virtual"
)

// join registers the room at the server: its stored settings, the room as Sharding, its observer, calls of peers,
// virtual collections and stages.
func (s *State) join() {
	s.LoadSetting("the zones", &s.zones.Setting, zonesName, s.zones.apply)
	s.LoadSetting("the zones of collections that are not sharded", &s.planned.Setting, plannedZonesName, s.planned.apply)
	s.LoadSetting("the query analyzers", &s.analyzers.Setting, queryAnalyzersName, s.analyzers.apply)
	s.LoadSetting("config.settings", &s.settings.Setting, configSettingsName, s.settings.apply)
	s.LoadSetting("the state of the balancer", &s.balancer, balancerName, s.applyBalancer)
	s.Sharding = s
	s.OnEnd(func(c *command.Call, e command.Outcome) { s.bill(c, e, s.recordShape(c, e)) })
	s.publishServer()
	s.registerCalls()
	none := func() []bson.Raw { return nil }
	s.Virtual.Add(
		virtual.Collection{DB: "config", Coll: "changelog", Docs: none},
		virtual.Collection{DB: "config", Coll: "chunks", Docs: s.chunkDocs},
		virtual.Collection{DB: "config", Coll: "collections", Docs: s.collectionDocs},
		virtual.Collection{DB: "config", Coll: "databases", Docs: s.databaseDocs},
		virtual.Collection{DB: "config", Coll: "mongos", Docs: s.mongosDocs},
		virtual.Collection{DB: "config", Coll: "queryAnalyzers", Docs: s.queryAnalyzerDocs},
		virtual.Collection{DB: "config", Coll: "requestUnits", Pages: s.ledgerPages, OfMembers: true},
		virtual.Collection{DB: "config", Coll: "settings", Docs: s.settingDocs},
		virtual.Collection{DB: "config", Coll: "shards", Docs: s.shardDocs},
		virtual.Collection{DB: "config", Coll: "tags", Docs: s.tagDocs},
		virtual.Collection{DB: "config", Coll: "version", Docs: s.clusterDocs},
	)
	s.Stages.Add(
		virtual.Stage{Name: "$listSampledQueries", Docs: s.sampledDocs},
		virtual.Stage{Name: "$shardedDataDistribution", Docs: s.distributionDocs},
	)
}
