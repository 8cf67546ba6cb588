package command

import (
	"errors"
	"strconv"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage/keyspace"
)

// throttled returns the error of a command that was refused for lack of request units as the client's listener sends it;
// other errors are returned as they are. For clients of the Cosmos listener it removes the labels and fields: Azure
// Cosmos DB sends neither, and only the text contains the time after which to retry. For others it adds errInfo.
func (c *Call) throttled(e *mongoerr.Error) *mongoerr.Error {
	if e.Code != ratelimit.CodeThrottled {
		return e
	}
	if c.Strict() {
		return mongoerr.New(e.Code, "%s", e.Msg)
	}
	return c.ThrottledStatement(e)
}

// ThrottledStatement returns the error of a statement of a batch, with errInfo.throttle if a budget refused the statement:
// the limit, the collection and its partition, the RU/s of the limit and what is left of them, the time after which to
// retry and, if the user may read the collection, the most expensive shard key value of the partition. The value is
// added to the first such error of a command. At the Cosmos listener the error is returned as it is.
func (c *Call) ThrottledStatement(e *mongoerr.Error) *mongoerr.Error {
	var t *ratelimit.Throttled
	if e.Code != ratelimit.CodeThrottled || c.Strict() || !errors.As(e, &t) {
		return e
	}
	b := bson.NewBuilder(nil)
	b.BeginDoc("errInfo")
	b.BeginDoc("throttle")
	b.String("limit", string(t.Limit))
	if coll := c.Cluster.Catalog().ByID(keyspace.CollectionID(t.Collection)); coll != nil {
		b.String("ns", coll.Namespace.String())
		b.String("partition", strconv.Itoa(t.Shard))
		c.appendHottest(b, coll, t)
	}
	if t.Rate > 0 {
		b.Double("ruPerSecond", t.Rate.Float())
		b.Double("ruLeft", t.Balance.Float())
	}
	b.Int64("retryAfterMs", t.RetryAfterMs())
	b.End()
	b.End()
	return e.WithFields(b.Doc().Elements())
}

// appendHottest appends the shard key value with the highest charges on the partition that refused the request, once for
// a command.
func (c *Call) appendHottest(b *bson.Builder, coll *catalog.Collection, t *ratelimit.Throttled) {
	if c.hottestNamed || !coll.Sharded() || !c.Server.MaySeeValues(c.ConnState.Login, coll.Namespace) {
		return
	}
	c.hottestNamed = true
	top := c.Cluster.Budgets.Collection(t.Collection).Hot(t.Shard).ByRU.Top(1)
	if len(top) == 0 {
		return
	}
	if value, err := coll.Key.LogicalValues([]byte(top[0].Key)); err == nil {
		b.Raw("hottest", value)
	}
}
