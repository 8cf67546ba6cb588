package processes

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/tikvrpc"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
)

// cost holds the requests that a command sends to the cluster: requests for timestamps, and the others by
// kind.
type cost struct {
	times int
	sent  map[tikvrpc.CmdType]int
}

// all returns the number of requests.
func (c cost) all() (n int) {
	for _, k := range c.sent {
		n += k
	}
	return n + c.times
}

// steps returns the number of sequential requests: prewrites are sent in parallel, and a commit is
// acknowledged after its first key.
func (c cost) steps() int {
	return c.all() - max(0, c.sent[tikvrpc.CmdPrewrite]-1) - max(0, c.sent[tikvrpc.CmdCommit]-1)
}

// less reports whether a run had a lower cost: fewer steps, or as many and fewer requests. The number of
// requests alone does not suffice: commits of further keys follow after the reply, so a run that the server's
// background work disturbed can seem to send fewer.
func (c cost) less(than cost) bool {
	return cmp.Or(cmp.Compare(c.steps(), than.steps()), cmp.Compare(c.all(), than.all())) < 0
}

// String returns the cost as one line.
func (c cost) String() string {
	names := []struct {
		kind tikvrpc.CmdType
		name string
	}{{tikvrpc.CmdGet, "read"}, {tikvrpc.CmdBatchGet, "batch of reads"}, {tikvrpc.CmdScan, "scan"}, {tikvrpc.CmdPrewrite, "prewrite"}, {tikvrpc.CmdCommit, "commit"}}
	var out []string
	if c.times > 0 {
		out = append(out, counted(c.times, "time"))
	}
	for _, x := range names {
		n := c.sent[x.kind]
		if x.kind == tikvrpc.CmdCommit {
			n = min(n, 1) // those of further keys follow in the background
		}
		if n > 0 {
			out = append(out, counted(n, x.name))
		}
	}
	return strings.Join(out, ", ")
}

// counted returns a number with its noun.
func counted(n int, name string) string {
	switch {
	case n == 1:
		return "1 " + name
	case name == "batch of reads":
		return fmt.Sprintf("%d batches of reads", n)
	}
	return fmt.Sprintf("%d %ss", n, name)
}

// bill is a collection on which the cost of commands is measured.
type bill struct {
	*mongo.Collection
	next int
}

// docs returns new documents with consecutive numbers.
func (b *bill) docs(n int) (out []bson.M) {
	for range n {
		b.next++
		out = append(out, bson.M{"_id": b.next, "a": b.next, "u": b.next, "n": 0})
	}
	return out
}

// find reads all documents that match a filter.
func (b *bill) find(ctx context.Context, filter bson.M) error {
	var out []bson.M
	found, err := b.Find(ctx, filter)
	if err == nil {
		err = found.All(ctx, &out)
	}
	return err
}

// inTxn runs a function in a transaction.
func (b *bill) inTxn(ctx context.Context, fn func(ctx context.Context) error) error {
	return b.Database().Client().UseSession(ctx, func(ctx context.Context) error {
		_, err := mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) { return nil, fn(ctx) })
		return err
	})
}

// charge is a command with the maximum number of steps that it may take.
type charge struct {
	what string
	most int
	do   func(ctx context.Context, b *bill) error
}

// increment increments a field of one document.
func (b *bill) increment(ctx context.Context, id int) error {
	_, err := b.UpdateOne(ctx, bson.M{"_id": id}, bson.M{"$inc": bson.M{"n": 1}})
	return err
}

// insertMany inserts new documents.
func (b *bill) insertMany(ctx context.Context, n int) error {
	_, err := b.InsertMany(ctx, b.docs(n))
	return err
}

// charges are the commands of the page's table that are measured on a collection with one index that is not unique,
// besides _id. Those for a unique index are in unique; their names mention it.
var charges = []charge{
	{"find by `_id`", 1, func(ctx context.Context, b *bill) error { return b.FindOne(ctx, bson.M{"_id": 7}).Err() }},
	{"find by `_id`, linearizable", 2, func(ctx context.Context, b *bill) error {
		strict := b.Clone(options.Collection().SetReadConcern(readconcern.Linearizable()))
		return strict.FindOne(ctx, bson.M{"_id": 7}).Err()
	}},
	{"find of 20 by an index", 5, func(ctx context.Context, b *bill) error {
		return b.find(ctx, bson.M{"a": bson.M{"$gte": 10, "$lt": 30}})
	}},
	{"find of 300 without an index", 8, func(ctx context.Context, b *bill) error {
		return b.find(ctx, bson.M{"_id": bson.M{"$lte": 300}, "n": bson.M{"$gte": 0}})
	}},
	{"update by `_id`", 5, func(ctx context.Context, b *bill) error { return b.increment(ctx, 7) }},
	{"insert of one", 5, func(ctx context.Context, b *bill) error { return b.insertMany(ctx, 1) }},
	{"insert of 1,000", 5, func(ctx context.Context, b *bill) error { return b.insertMany(ctx, 1000) }},
	{"delete by `_id`", 5, func(ctx context.Context, b *bill) error {
		_, err := b.DeleteOne(ctx, bson.M{"_id": b.next})
		return err
	}},
	{"transaction of 2 updates by `_id`", 10, func(ctx context.Context, b *bill) error {
		return b.inTxn(ctx, func(ctx context.Context) error {
			if err := b.increment(ctx, 8); err != nil {
				return err
			}
			return b.increment(ctx, 9)
		})
	}},
	{"transaction that inserts 100", 7, func(ctx context.Context, b *bill) error {
		return b.inTxn(ctx, func(ctx context.Context) error { return b.insertMany(ctx, 100) })
	}},
}

// unique are the commands on a collection with a unique index.
var unique = []charge{
	{"insert of one with a further unique index", 5, func(ctx context.Context, b *bill) error { return b.insertMany(ctx, 1) }},
	{"insert of 1,000 with a further unique index", 5, func(ctx context.Context, b *bill) error { return b.insertMany(ctx, 1000) }},
	{"transaction that inserts 100 with a further unique index", 7, func(ctx context.Context, b *bill) error {
		return b.inTxn(ctx, func(ctx context.Context) error { return b.insertMany(ctx, 100) })
	}},
}

// severalMore is the number of additional steps that a command may take if the keyspace is not exclusive:
// timestamps for reads, and lookups for its session.
const severalMore = 4

// lookedRarely is the time after a change of a collection in which a server polls for more changes ten times as often
// as later. These polls would be counted with the commands, so the test waits for that time.
const lookedRarely = 3 * time.Second

// TestRoundTrips measures the cost of commands in requests to the cluster, for a server that has its keyspace
// exclusively and for one of several. It checks that no command takes more steps than its maximum, and that
// docs/scale-out.md has the measured numbers.
func TestRoundTrips(t *testing.T) {
	table := "| command | steps, alone | requests | steps, of several | requests |\n|---|---|---|---|---|\n"
	one, several := costs(t, true), costs(t, false)
	for i, x := range slices.Concat(charges, unique) {
		for _, c := range []struct {
			least cost
			most  int
		}{{one[i], x.most}, {several[i], x.most + severalMore}} {
			if c.least.steps() > c.most {
				t.Errorf("%s: %v: %d steps, want %d at most", x.what, c.least, c.least.steps(), c.most)
			}
		}
		table += fmt.Sprintf("| %s | %d | %v | %d | %v |\n", x.what, one[i].steps(), one[i], several[i].steps(), several[i])
	}
	printed(t, table)
}

// costs returns the cost of all charges, in their order. The least of several runs counts: others are
// disturbed by background work, which on a non-exclusive server includes polls for the changes of peers.
func costs(t *testing.T, exclusive bool) (list []cost) {
	c, place := cluster(t)
	times := 40
	if exclusive {
		place, times = place+exclusiveParam, 4
	}
	s := mustLaunch(t, place)
	db := connect(t, s.URI).Database("test")
	for _, group := range []struct {
		name    string
		key     string
		unique  bool
		charges []charge
	}{{"plain", "a", false, charges}, {"unique", "u", true, unique}} {
		b := &bill{Collection: db.Collection(group.name)}
		if err := b.insertMany(t.Context(), 300); err != nil {
			t.Fatal(err)
		}
		index := mongo.IndexModel{Keys: bson.D{{Key: group.key, Value: 1}}, Options: options.Index().SetUnique(group.unique)}
		if _, err := b.Indexes().CreateOne(t.Context(), index); err != nil {
			t.Fatal(err)
		}
		if !exclusive {
			wait(t.Context(), lookedRarely)
		}
		for _, x := range group.charges {
			least := cost{times: 1 << 20}
			for range times {
				c.Count()
				if err := x.do(t.Context(), b); err != nil {
					t.Fatal(err)
				}
				sent, times := c.Count()
				if got := (cost{times, sent}); got.less(least) {
					least = got
				}
			}
			list = append(list, least)
		}
	}
	return list
}

// TestBatchTrips checks that background jobs read documents in batches, with at most one request for four documents:
// the build of a unique index, a first and another shard key with their copies, a split.
func TestBatchTrips(t *testing.T) {
	const docs = 1024
	c, place := cluster(t)
	s := mustLaunch(t, place)
	client := connect(t, s.URI)
	b := &bill{Collection: client.Database("test").Collection("batches")}
	unique := func() error {
		_, err := b.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{Key: "u", Value: 1}, {Key: "a", Value: 1}}, Options: options.Index().SetUnique(true)})
		return err
	}
	admin := func(command bson.D) func() error {
		return func() error { return client.Database("admin").RunCommand(t.Context(), command).Err() }
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"", func() error { return b.insertMany(t.Context(), docs) }},
		{"a unique index", unique},
		{"a shard key", admin(bson.D{{Key: "shardCollection", Value: "test.batches"}, {Key: "key", Value: bson.D{{Key: "u", Value: 1}}}})},
		{"another shard key", admin(bson.D{{Key: "reshardCollection", Value: "test.batches"}, {Key: "key", Value: bson.D{{Key: "u", Value: 1}, {Key: "a", Value: 1}}}})},
		{"a split", admin(bson.D{{Key: "split", Value: "test.batches"}, {Key: "middle", Value: bson.D{{Key: "u", Value: docs / 2}, {Key: "a", Value: docs / 2}}}})},
	} {
		c.Count()
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		sent, times := c.Count()
		got := cost{times, sent}
		t.Logf("%s: %v", step.what, got)
		if reads := sent[tikvrpc.CmdGet] + sent[tikvrpc.CmdBatchGet] + sent[tikvrpc.CmdScan]; step.what != "" && reads > docs/4 {
			t.Errorf("%s of %d documents: %d reads: %v", step.what, docs, reads, got)
		}
	}
}

// TestOrderedInsertTrips checks that an ordered insert into seven partitions, each a region of its own, is also one
// transaction: it takes two timestamps, and at most one read request for each partition.
func TestOrderedInsertTrips(t *testing.T) {
	c, place := cluster(t)
	client := connect(t, mustLaunch(t, place+exclusiveParam).URI)
	shard := bson.D{{Key: "shardCollection", Value: "test.spread"}, {Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}, {Key: "numInitialChunks", Value: 7}}
	if err := client.Database("admin").RunCommand(t.Context(), shard).Err(); err != nil {
		t.Fatal(err)
	}
	b := &bill{Collection: client.Database("test").Collection("spread")}
	least := cost{times: 1 << 20}
	for range 8 {
		c.Count()
		if err := b.insertMany(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
		sent, times := c.Count()
		if got := (cost{times, sent}); got.less(least) {
			least = got
		}
	}
	t.Log(least)
	if least.times != 2 || least.sent[tikvrpc.CmdGet] > 0 || least.sent[tikvrpc.CmdBatchGet] > 7 { // one per region, in parallel
		t.Errorf("more than one transaction: %v", least)
	}
}

// The lines of the page before and after the table.
const (
	page      = "../../../docs/scale-out.md"
	tableHead = "<!-- measured by compat-tests/servers/processes; go test ./compat-tests/servers/processes -run RoundTrips -rewrite writes it -->\n\n"
	tableEnd  = "\n<!-- end of what was measured -->\n"
)

// printed checks that the page has the table, or with -rewrite writes it.
func printed(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := bytes.Cut(text, []byte(tableHead))
	was, after, ok2 := bytes.Cut(rest, []byte(tableEnd))
	switch {
	case !ok || !ok2:
		t.Fatalf("%s lacks the lines %q and %q", page, tableHead, tableEnd)
	case flag.Lookup("rewrite").Value.String() == "true": // the flag of case files
		whole := fmt.Sprintf("%s%s%s%s%s", before, tableHead, table, tableEnd, after)
		if err := os.WriteFile(page, []byte(whole), 0o644); err != nil {
			t.Fatal(err)
		}
	case string(was) != table:
		t.Errorf("%s says\n\n%s\nand this was measured:\n\n%s\nIf that is right, run the test with -rewrite", page, was, table)
	}
}
