package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// The stages of Atlas Search. They are recognised and rejected, as a MongoDB server without Atlas Search does.
var (
	stageListSearchIndexes = StageDef{Name: "$listSearchIndexes", Parse: parseSearch, Since: "7.0", Doc: "reference/operator/aggregation/listSearchIndexes"}
	stageSearch            = StageDef{Name: "$search", Parse: parseSearch, Unstable: always, Selects: always,
		Doc: "reference/operator/aggregation/search", Since: "8.2"}
	stageSearchMeta   = StageDef{Name: "$searchMeta", Parse: parseSearch, Since: "8.2", Doc: "reference/operator/aggregation/searchMeta"}
	stageVectorSearch = StageDef{Name: "$vectorSearch", Parse: parseSearch, Selects: always, Since: "8.2", Doc: "reference/operator/aggregation/vectorSearch"}
)

func parseSearch(_ *parser, _ string, _ bson.Value) ([]Stage, error) {
	return nil, mongoerr.New(mongoerr.SearchNotEnabled, "Using $search and $vectorSearch aggregation stages requires additional configuration. Please connect to Atlas or an AtlasCLI local deployment to enable. "+
		"This server has no search engine: search with $text and a text index, or with a regular expression.")
}
