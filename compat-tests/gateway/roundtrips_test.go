package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tikv/client-go/v2/tikvrpc"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// cost is what a command asks of the cluster: times of the oracle, and requests by kind.
type cost struct {
	times int
	sent  map[tikvrpc.CmdType]int
}

// all is the number of requests.
func (c cost) all() (n int) {
	for _, k := range c.sent {
		n += k
	}
	return n + c.times
}

// String is the cost in one line.
func (c cost) String() string {
	var out []string
	for _, kind := range []tikvrpc.CmdType{tikvrpc.CmdGet, tikvrpc.CmdBatchGet, tikvrpc.CmdScan, tikvrpc.CmdPrewrite, tikvrpc.CmdCommit} {
		if n := c.sent[kind]; n > 0 {
			out = append(out, fmt.Sprintf("%v %d", kind, n))
		}
	}
	return fmt.Sprintf("%d times of the oracle, %s", c.times, strings.Join(out, ", "))
}

// What commands cost in requests to the cluster, at most. The least of several runs counts: the
// server's own work comes in between.
func TestRoundTrips(t *testing.T) {
	c, place := cluster(t)
	s := mustLaunch(t, place)
	coll := connect(t, s.URI+"?retryWrites=false").Database("test").Collection("c")
	docs := func(first, n int) (out []bson.M) {
		for i := range n {
			out = append(out, bson.M{"_id": first + i, "a": i, "n": 0})
		}
		return out
	}
	if _, err := coll.InsertMany(t.Context(), docs(0, 300)); err != nil {
		t.Fatal(err)
	}
	if _, err := coll.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{Key: "a", Value: 1}}}); err != nil {
		t.Fatal(err)
	}
	next := 1000
	for _, x := range []struct {
		what string
		most int
		do   func(ctx context.Context) error
	}{
		{"find by _id", 2, func(ctx context.Context) error { return coll.FindOne(ctx, bson.M{"_id": 7}).Err() }},
		{"find 20 by an index", 6, func(ctx context.Context) error {
			var out []bson.M
			found, err := coll.Find(ctx, bson.M{"a": bson.M{"$gte": 10, "$lt": 30}})
			if err == nil {
				err = found.All(ctx, &out)
			}
			return err
		}},
		{"update by _id", 5, func(ctx context.Context) error {
			_, err := coll.UpdateOne(ctx, bson.M{"_id": 7}, bson.M{"$inc": bson.M{"n": 1}})
			return err
		}},
		{"insert of one", 5, func(ctx context.Context) error {
			next++
			_, err := coll.InsertOne(ctx, bson.M{"_id": next})
			return err
		}},
		{"insert of 100", 6, func(ctx context.Context) error {
			next += 100
			_, err := coll.InsertMany(ctx, docs(next, 100))
			return err
		}},
	} {
		least := cost{times: 1 << 20}
		for range 8 {
			c.Count()
			if err := x.do(t.Context()); err != nil {
				t.Fatal(err)
			}
			sent, times := c.Count()
			if got := (cost{times, sent}); got.all() < least.all() {
				least = got
			}
		}
		t.Logf("%s: %v", x.what, least)
		if x.most > 0 && least.all() > x.most {
			t.Errorf("%s: %v, want %d requests at most", x.what, least, x.most)
		}
	}
}
