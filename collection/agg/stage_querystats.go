package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var stageQueryStats = info(StageDef{Name: "$queryStats", Constraints: onAdmin,
	Privileges: []Privilege{
		{Action: "queryStatsRead", On: OnCluster},
		{Action: "queryStatsReadTransformed", On: OnCluster, Case: "with transformIdentifiers", If: where(func(a infoArgs, _ collection.User) bool {
			return a.doc.Has("transformIdentifiers")
		})},
	}, Since: "8.0", Doc: "reference/operator/aggregation/queryStats"}, checkQueryStats)

func checkQueryStats(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(mongoerr.FailedToParse, "$queryStats value must be an object. Found: %s", v.Type)
	}
	if err := checkOptions("$queryStats", d, mongoerr.IDLUnknownField, option{"transformIdentifiers", bson.TypeDocument}); err != nil {
		return err
	}
	transform, ok := d.Get("transformIdentifiers").Doc()
	if !ok {
		return nil
	}
	const stage = "$queryStats.transformIdentifiers"
	if err := checkOptions(stage, transform, mongoerr.IDLUnknownField, option{"algorithm", bson.TypeString}, option{"hmacKey", bson.TypeBinary}); err != nil {
		return err
	}
	name, ok := transform.Get("algorithm").Str()
	if !ok {
		return mongoerr.MissingField(stage + ".algorithm")
	}
	if name != "hmac-sha-256" {
		return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s.algorithm' is not a valid value.", name, stage)
	}
	subtype, _, ok := transform.Get("hmacKey").Binary()
	switch {
	case !ok:
		return mongoerr.New(mongoerr.FailedToParse, "%s needs the hmacKey of its algorithm", stage)
	case subtype != 8:
		return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.hmacKey' is the wrong binData type 'subtype %d', expected type 'sensitive'", stage, subtype)
	}
	return nil
}
