package arguments

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
)

// WantsCharge reports whether the client requests, by {requestCharge: true} in the comment of a command, that the
// reply contains the charge in RU.
func WantsCharge(comment bson.Value) bool {
	d, ok := comment.Doc()
	return ok && comment.Type == bson.TypeDocument && d.Get("requestCharge").Truthy()
}

// ClassOf returns the class by which the command is admitted, as selected by the comment of the command: {bucket: 2,
// priority: "low", ruPerMinute: false}. A comment may contain anything, so other fields and values are ignored.
// Source: Azure Cosmos DB, "throughput-buckets", "priority-based-execution", "request-units-per-minute"; the
// selection by comments is ours.
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
