package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/virtual"
)

// join registers the settings, hooks, observers and virtual collections of the room at the server.
func (s *State) join() {
	s.Keep("the zones", &s.zones.Setting, zonesName, s.zones.take)
	s.Keep("the zones of collections that are not sharded", &s.planned.Setting, plannedZonesName, s.planned.take)
	s.Keep("the query analyzers", &s.analyzers.Setting, queryAnalyzersName, s.analyzers.take)
	s.Keep("config.settings", &s.settings.Setting, configSettingsName, s.settings.take)
	s.Keep("the state of the balancer", &s.balancer, balancerName, s.takeBalancer)
	s.Hooks.Gone = s.namespaceGone
	s.Hooks.UpdateVirtual = func(c *command.Call, ns collection.Namespace, m *cluster.Modify) (cluster.Modified, bool, error) {
		return s.updateConfig(c, ns, m)
	}
	s.OnEnd(s.noteShape)
	s.introduce()
	s.answerOthers()
	none := func() []bson.Raw { return nil }
	s.Virtual.Add(
		virtual.Collection{DB: "config", Coll: "changelog", Docs: none},
		virtual.Collection{DB: "config", Coll: "chunks", Docs: s.chunkDocs},
		virtual.Collection{DB: "config", Coll: "collections", Docs: s.collectionDocs},
		virtual.Collection{DB: "config", Coll: "databases", Docs: s.databaseDocs},
		virtual.Collection{DB: "config", Coll: "mongos", Docs: s.mongosDocs},
		virtual.Collection{DB: "config", Coll: "queryAnalyzers", Docs: s.queryAnalyzerDocs},
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
