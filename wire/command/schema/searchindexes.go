package schema

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// runSearchIndexes refuses the commands about Atlas Search's indexes with the error of a server without a
// search server. Drivers and GUIs search for the word Atlas in the text.
// Manual: reference/command/createSearchIndexes. Spec: index-management.
func runSearchIndexes(*command.Call) error {
	return mongoerr.New(mongoerr.SearchNotEnabled, "Using Atlas Search Database Commands and the $listSearchIndexes aggregation stage requires additional configuration. "+
		"Please connect to Atlas or an AtlasCLI local deployment to enable.")
}
