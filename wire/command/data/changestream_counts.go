package data

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
)

// countChangeStream counts a new change stream by its scope and by the options in the argument of $changeStream.
func countChangeStream(n *command.ChangeCounts, ns collection.Namespace, arg bson.Raw) {
	switch {
	case arg.Get("allChangesForCluster").Truthy():
		n.Add("scope.cluster", 1)
	case ns.Coll == "":
		n.Add("scope.db", 1)
	default:
		n.Add("scope.collection", 1)
	}
	for name, v := range arg.Fields() {
		option := "option." + string(name)
		if choice, ok := v.Str(); ok {
			n.Add(option+"."+choice, 1)
		} else if v.Type != bson.TypeBool && !v.IsNullish() || v.Truthy() {
			n.Add(option, 1)
		}
	}
}

// countChanges counts what one Append of a change stream has returned: n events of together size bytes, or an error.
// again is true if the Append continues the batch of the one before. An error because the client has gone or has killed
// the cursor is not counted.
func countChanges(ctx context.Context, c *command.ChangeCounts, again bool, n, size int, err error) {
	switch {
	case err == nil:
		if !again {
			c.Add("cursor.batchesReturned", 1)
		}
		c.Add("cursor.docsReturned", n)
		c.Add("cursor.bytesReturned", size)
	case ctx.Err() == nil:
		c.Add(changeErrorPath(mongoerr.From(cluster.Translate(err)).Code), 1)
	}
}

// changeErrorPath returns the counter of an error that ends a change stream.
func changeErrorPath(code mongoerr.Code) string {
	switch code {
	case mongoerr.BSONObjectTooLarge:
		return "error.nonRetriable.bsonObjectTooLarge"
	case mongoerr.ChangeStreamFatalError:
		return "error.nonRetriable.changeStreamFatalError"
	case mongoerr.ChangeStreamHistoryLost:
		return "error.nonRetriable.changeStreamHistoryLost"
	case mongoerr.InterruptedDueToReplStateChange:
		return "error.retriable.interruptedDueToReplStateChange"
	}
	if code.Is(mongoerr.RetriableCategory) {
		return "error.retriable.other"
	}
	return "error.nonRetriable.other"
}
