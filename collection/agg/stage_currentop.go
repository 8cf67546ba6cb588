package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var stageCurrentOp = info(StageDef{Name: "$currentOp", Constraints: onAdmin,
	Privileges: []Privilege{{Action: "inprog", On: OnCluster, If: where(infoArgs.allUsers), Case: "with allUsers"}}, ReadLevel: "local", Unstable: always, Since: "3.6", Doc: "reference/operator/aggregation/currentOp"}, checkCurrentOp)

func checkCurrentOp(v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(mongoerr.TypeMismatch, "$currentOp options must be specified in an object, but found: %s", v.Type)
	}
	for it := d.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "allUsers", "idleConnections", "idleSessions", "localOps", "truncateOps", "idleCursors", "backtrace", "targetAllNodes":
			if it.Value.Type != bson.TypeBool {
				return mongoerr.New(mongoerr.TypeMismatch, "The '%s' parameter of the $currentOp stage must be a boolean value, but found: %s", name, it.Value.Type)
			}
		default:
			return mongoerr.New(40415, "Unrecognized option '%s' in $currentOp stage.", name)
		}
	}
	local, _ := d.Get("localOps").Boolean()
	all, _ := d.Get("targetAllNodes").Boolean()
	if local && all {
		return mongoerr.New(mongoerr.FailedToParse, "The 'localOps' parameter of the $currentOp stage cannot be true when 'targetAllNodes' is also true")
	}
	return nil
}

// allUsers reports whether the stage shows the operations of all users.
func (a infoArgs) allUsers(collection.User) bool { return a.doc.Get("allUsers").Truthy() }
