package arguments

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
)

// WantsCharge reports whether the comment requests the charge of the command in its
// reply: {requestCharge: true}.
func WantsCharge(comment bson.Value) bool {
	d, ok := comment.Doc()
	return ok && comment.Type == bson.TypeDocument && d.Get("requestCharge").Truthy()
}

// ClassOf returns the class of admission that the comment of a command selects: {bucket:
// 2, priority: "low", ruPerMinute: false}. A comment may be anything, so other fields and
// values are ignored.
// Source: Azure Cosmos DB, "throughput-buckets", "priority-based-execution",
// "request-units-per-minute"; selection by comments is ours.
func ClassOf(comment bson.Value) ratelimit.Class {
	d, ok := comment.Doc()
	if !ok || comment.Type != bson.TypeDocument {
		return ratelimit.Class{}
	}
	group, _ := d.Get("bucket").AsInt64()
	if group < 0 || group > ratelimit.GroupsMax {
		group = 0
	}
	priority, _ := d.Get("priority").Str()
	var none *ratelimit.Groups
	c, err := none.ClassFor(int(group), priority, "")
	if err != nil {
		c, _ = none.ClassFor(int(group), "", "")
	}
	on, given := d.Get("ruPerMinute").Boolean()
	c.NoMinute = given && !on
	return c
}
