package schema

import "github.com/cantledb/cantle/wire/virtual"

// join registers the stages of the room at the server.
func (s *State) join() {
	s.Stages.Add(
		virtual.Stage{Name: "$collStats", Docs: s.collStatsDocs},
		virtual.Stage{Name: "$indexStats", Docs: s.indexStatsDocs},
		virtual.Stage{Name: "$listCatalog", Docs: s.catalogDocs},
		virtual.Stage{Name: "$listClusterCatalog", Docs: s.clusterCatalogDocs},
	)
}
