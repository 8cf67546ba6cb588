package schema

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runSearchIndexes refuses the commands on indexes of Atlas Search with the error of a MongoDB server that has no
// search server. Drivers and GUIs search for the word Atlas in its text.
// Manual: reference/command/createSearchIndexes. Spec: index-management.
func runSearchIndexes(*command.Call) error {
	return mongoerr.New(mongoerr.SearchNotEnabled, "Using Atlas Search Database Commands and the $listSearchIndexes aggregation stage requires additional configuration. "+
		"Please connect to Atlas or an AtlasCLI local deployment to enable. "+
		"This server has no search engine: create a text index with createIndexes, and search with $text.")
}
