package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var stageListClusterCatalog = info(StageDef{Name: "$listClusterCatalog", Constraints: Constraints{First: true, Source: true, NotIn: placesOfInfo, NoView: mongoerr.InvalidNamespace,
	Collectionless: true, NoCollection: noCatalogOfCollection},
	Privileges: []Privilege{{Action: "listClusterCatalog", On: OnInput}}, Since: "8.1", Doc: "reference/operator/aggregation/listClusterCatalog"}, checkClusterCatalog)

// noCatalogOfCollection returns the error for $listClusterCatalog on a collection.
func noCatalogOfCollection() error {
	return mongoerr.New(9621301, "The $listClusterCatalog stage must be run on a database")
}

func checkClusterCatalog(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(9621302, "The $listClusterCatalog stage specification must be an object. Found: %s", v.Type)
	}
	return checkOptions("$listClusterCatalog", d, 40415, option{"shards", bson.TypeBool},
		option{"balancingConfiguration", bson.TypeBool}, option{"tracked", bson.TypeBool})
}
