package shards

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/wire/command"
)

// join hands the room's answers to the server.
func (s *State) join() {
	s.Keep("the zones", s.zones.load)
	s.Keep("the zones of collections that are not sharded", func(ctx context.Context, store storage.Store) error {
		return s.planned.load(ctx, store, s.isSharded)
	})
	s.Keep("the query analyzers", s.analyzers.load)
	s.Keep("config.settings", s.settings.load)
	s.Hooks.Gone = s.namespaceGone
	s.Hooks.UpdateVirtual = func(c *command.Call, ns collection.Namespace, m *cluster.Modify) (cluster.Modified, bool, error) {
		return s.updateConfig(c, ns, m)
	}
	s.OnEnd(s.noteShape)
	none := func() []bson.Raw { return nil }
	s.AddVirtual(
		command.Virtual{DB: "config", Coll: "changelog", Docs: none},
		command.Virtual{DB: "config", Coll: "chunks", Docs: s.chunkDocs},
		command.Virtual{DB: "config", Coll: "collections", Docs: s.collectionDocs},
		command.Virtual{DB: "config", Coll: "databases", Docs: s.databaseDocs},
		command.Virtual{DB: "config", Coll: "mongos", Docs: s.mongosDocs},
		command.Virtual{DB: "config", Coll: "queryAnalyzers", Docs: s.queryAnalyzerDocs},
		command.Virtual{DB: "config", Coll: "settings", Docs: s.settingDocs},
		command.Virtual{DB: "config", Coll: "shards", Docs: s.shardDocs},
		command.Virtual{DB: "config", Coll: "tags", Docs: s.tagDocs},
		command.Virtual{DB: "config", Coll: "version", Docs: s.clusterDocs},
	)
	s.AddSources([]command.StageSource{
		{Stage: "$listSampledQueries", Docs: s.sampledDocs},
		{Stage: "$shardedDataDistribution", Docs: s.distributionDocs},
	})
}
