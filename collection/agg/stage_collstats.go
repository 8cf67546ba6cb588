package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var stageCollStats = info(StageDef{Name: "$collStats", OwnFields: true,
	Constraints: Constraints{First: true, Source: true, OfView: true, NotIn: placesOfInfo},
	Privileges:  []Privilege{{Action: "collStats", On: OnInput}}, Unstable: moreThanCount, Doc: "reference/operator/aggregation/collStats"}, checkCollStats)

// checkCollStats checks the argument of $collStats. null counts as absent, also beside a value of the same field, so that
// the stage itself rejects repeated fields.
func checkCollStats(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(5447000, "$collStats must take a nested object but found: %s", v.Type)
	}
	given := map[string]bool{}
	for it := d.Iter(); it.Next(); {
		if it.Value.Type != bson.TypeNull {
			if given[string(it.Name)] {
				return mongoerr.RepeatedField("$collStats." + string(it.Name))
			}
			given[string(it.Name)] = true
		}
		sub, ok := it.Value.Doc()
		switch name := string(it.Name); {
		case name != "latencyStats" && name != "storageStats" && name != "count" && name != "queryExecStats" && name != "operationStats" && name != "targetAllNodes":
			return mongoerr.New(40415, "BSON field '$collStats.%s' is an unknown field.", name)
		case it.Value.Type == bson.TypeNull:
		case name == "targetAllNodes":
			if it.Value.Type != bson.TypeBool {
				return mongoerr.WrongType("$collStats.targetAllNodes", it.Value.Type.String(), "bool")
			}
		case !ok:
			return mongoerr.WrongType("$collStats."+name, it.Value.Type.String(), "object")
		case name == "count" || name == "queryExecStats":
			if !sub.IsEmpty() {
				return mongoerr.New(31170, "The '%s' option to $collStats must be an empty object", name)
			}
		case name == "latencyStats":
			if err := checkOptions("$collStats.latencyStats", sub, 40415, option{"histograms", bson.TypeBool}); err != nil {
				return err
			}
		case name == "storageStats":
			if err := checkStorageStats(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkStorageStats(d bson.Raw) error {
	for _, name := range [...]string{"verbose", "waitForLock", "numericOnly"} {
		if v, ok := d.Lookup(name); ok && v.Type != bson.TypeBool && v.Type != bson.TypeNull {
			return mongoerr.WrongType("$collStats.storageStats."+name, v.Type.String(), "bool")
		}
	}
	v, ok := d.Lookup("scale")
	if !ok || v.Type == bson.TypeNull {
		return nil
	}
	if !v.IsNumber() {
		return mongoerr.WrongType("$collStats.storageStats.scale", v.Type.String(), "long", "int", "decimal", "double")
	}
	if n, _ := v.TruncInt64(); n < 1 {
		return mongoerr.OutOfRange("$collStats.storageStats.scale", n, ">=", 1)
	}
	return nil
}

// moreThanCount reports whether an argument of $collStats requests more than count. Only count is in the stable
// API.
func moreThanCount(arg bson.Value) bool {
	d, _ := arg.Doc()
	for name := range d.Fields() {
		if string(name) != "count" {
			return true
		}
	}
	return false
}
