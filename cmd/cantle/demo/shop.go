package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/remote"
)

// DB and Collection name the collection of the demo, and Namespace is both.
const (
	DB         = "shop"
	Collection = "orders"
	Namespace  = DB + "." + Collection
)

// Partitions is the number of partitions of the collection, Tenants the number of values of its shard key.
const (
	Partitions = 4
	Tenants    = 40
)

// Throughput is the throughput of the collection in cantle demo, in RU/s.
const Throughput = 2_000

// HotTenant is the tenant that becomes hot.
const HotTenant = "acme"

// firstNames are the tenants, in the order of their orders; further ones are tenant-5, tenant-6 and so on.
var firstNames = []string{HotTenant, "globex", "initech", "umbrella", "hooli"}

// tenantOf returns the tenant of the order with a number.
func tenantOf(order int64) string {
	n := int(order % Tenants)
	if n < len(firstNames) {
		return firstNames[n]
	}
	return fmt.Sprintf("tenant-%d", n)
}

// states are the states of an order; the last one is the most frequent.
var states = []string{"open", "paid", "sent", "sent"}

// order returns the document of an order. The documents of a number differ only in their time.
func (l *Load) order(n int64) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int64("_id", n)
	b.String("tenant", tenantOf(n))
	b.String("status", states[n/Tenants%int64(len(states))])
	b.DateTime("at", l.Now().UnixMilli())
	b.Double("total", float64(n*37%20_000)/100)
	b.BeginArray("items")
	for i := range n%3 + 1 {
		b.BeginDoc("")
		b.String("sku", fmt.Sprintf("sku-%d", (n*7+i)%500))
		b.Int32("quantity", int32(i+1))
		b.End()
	}
	b.End()
	b.String("note", strings.Repeat("…", 40))
	return b.Doc()
}

// Prepare creates the collection with its index, inserts the orders, and then sets the throughput, so that the inserts
// need none. If the collection exists (--data), it stays, and the load continues behind its last order.
// Errors: errors of the server.
func (l *Load) Prepare(ctx context.Context) error {
	reply, err := l.Run(ctx, DB, bson.D{{"find", Collection}, {"sort", bson.D{{"_id", -1}}}, {"limit", 1}, {"projection", bson.D{{"_id", 1}}}}.Doc())
	if err != nil {
		return err
	}
	if last, ok := remote.First(reply); ok {
		n, _ := last.Get("_id").AsInt64()
		l.next = n + 1
		return nil
	}
	if _, err := l.Run(ctx, "admin", bson.D{{"shardCollection", Namespace}, {"key", bson.D{{"tenant", "hashed"}}}, {"numInitialChunks", Partitions}}.Doc()); err != nil {
		return err
	}
	if _, err := l.Run(ctx, DB, bson.D{{"createIndexes", Collection}, {"indexes", bson.A{bson.D{{"key", bson.D{{"tenant", 1}, {"at", -1}}}, {"name", "tenant_1_at_-1"}}}}}.Doc()); err != nil {
		return err
	}
	const batchSize = 500
	for l.next < int64(l.Documents) {
		var docs []bson.Raw
		for ; l.next < int64(l.Documents) && len(docs) < batchSize; l.next++ {
			docs = append(docs, l.order(l.next))
		}
		if _, err := l.Run(ctx, DB, bson.D{{"insert", Collection}, {"documents", bson.Docs(docs)}}.Doc()); err != nil {
			return err
		}
	}
	if _, err := l.Run(ctx, DB, bson.D{{"customAction", "UpdateCollection"}, {"collection", Collection}, {"offerThroughput", l.Throughput}}.Doc()); err != nil {
		return err
	}
	// The inserts would else be the most expensive shape of the report.
	_, err = l.Run(ctx, "admin", bson.D{{"customAction", "GetRequestReport"}, {"reset", true}}.Doc())
	return err
}

// HotPartition returns the partition with the orders of HotTenant.
// Errors: errors of the server.
func (l *Load) HotPartition(ctx context.Context) (string, error) {
	reply, err := l.Run(ctx, DB, bson.D{{"explain", bson.D{{"find", Collection}, {"filter", bson.D{{"tenant", HotTenant}}}}}, {"verbosity", "queryPlanner"}}.Doc())
	if err != nil {
		return "", err
	}
	planner, _ := reply.Get("queryPlanner").Doc()
	plan, _ := planner.Get("winningPlan").Doc()
	shards, _ := plan.Get("shards").Array()
	first, _ := shards.Index(0)
	d, _ := first.Doc()
	name, ok := d.Get("shardName").Str()
	if !ok {
		return "", fmt.Errorf("explain names no partition: %s", reply.Clipped(200))
	}
	return strings.TrimPrefix(name, "p"), nil
}
