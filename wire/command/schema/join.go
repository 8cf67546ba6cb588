package schema

import "github.com/cantledb/cantle/wire/command"

// join hands the room's answers to the server.
func (s *State) join() {
	s.AddSources([]command.StageSource{
		{Stage: "$collStats", Docs: s.collStatsDocs},
		{Stage: "$indexStats", Docs: s.indexStatsDocs},
		{Stage: "$listClusterCatalog", Docs: s.clusterCatalogDocs},
	})
}
