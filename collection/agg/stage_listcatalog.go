package agg

import "github.com/cantledb/cantle/collection/mongoerr"

// stageListCatalog is $listCatalog: the catalog entry of a collection, or on admin those of all collections.
// Source: the stage has no page in the manual; Coroot's documentation lists its privileges.
var stageListCatalog = info(StageDef{Name: "$listCatalog",
	Constraints: Constraints{First: true, Source: true, NotIn: placesOfInfo | InLookup | InUnion, NoView: mongoerr.OptionNotSupportedOnView,
		Collectionless: true, OnCollection: true, AdminOnly: true},
	Privileges: []Privilege{{Action: "listCollections", On: OnInputOrEverywhere}, {Action: "listIndexes", On: OnInputOrEverywhere}},
	Unstable:   always, Since: "6.0", Doc: "reference/command/listCollections"}, checkEmpty("$listCatalog", mongoerr.FailedToParse))
