package changestream

import (
	"slices"

	"github.com/cantledb/cantle/bson"
)

// hidden holds the fields that events of Azure Cosmos DB do not have.
// Source: Azure Cosmos DB for MongoDB, "change-streams".
var hidden = [...]string{"operationType", "updateDescription"}

// HideFields adds to a pipeline that begins with $changeStream, $match and $project a stage that removes the hidden
// fields from the events. It stands after the $match, which may read them. Other pipelines are returned unchanged.
func HideFields(stages []bson.Raw) []bson.Raw {
	if len(stages) < 3 || !stages[0].Has("$changeStream") || !stages[1].Has("$match") || !stages[2].Has("$project") {
		return stages
	}
	b := bson.NewBuilder(nil)
	b.BeginDoc("$project")
	for _, name := range hidden {
		b.Int32(name, 0)
	}
	b.End()
	return slices.Insert(slices.Clone(stages), 2, b.Doc())
}
