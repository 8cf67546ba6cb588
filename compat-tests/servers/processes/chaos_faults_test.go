package processes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// nap is the time for which a server is suspended: longer than its lease of five seconds.
const nap = 6500 * time.Millisecond

// wait waits, and reports whether ctx is still valid.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// strike injects one fault after the other into servers and cluster, each kind once before any is repeated.
func (c *chaos) strike(ctx context.Context) {
	r := rand.New(rand.NewPCG(c.seed, 1))
	kinds := []struct {
		what string
		do   func(ctx context.Context, r *rand.Rand)
	}{
		{"kill", c.kill}, {"nap", c.nap}, {"trouble", c.trouble}, {"PD away", c.silencePD},
	}
	for wait(ctx, time.Second) {
		for _, i := range r.Perm(len(kinds)) {
			begun := time.Since(c.began)
			kinds[i].do(ctx, r)
			c.mu.Lock()
			c.blows = append(c.blows, blow{kinds[i].what, begun, time.Since(c.began)})
			if kinds[i].what != "kill" { // killOne counts itself
				c.struck[kinds[i].what]++
			}
			c.mu.Unlock()
			if !wait(ctx, 500*time.Millisecond+time.Duration(r.Int64N(int64(time.Second)))) {
				return
			}
		}
	}
}

// kill ends a server with SIGKILL, and starts it again.
func (c *chaos) kill(_ context.Context, r *rand.Rand) { c.killOne(r.IntN(chaosServers)) }

func (c *chaos) killOne(i int) {
	c.mu.Lock()
	s := c.servers[i]
	c.mu.Unlock()
	if err := s.Trouble(); err != nil {
		c.Errorf("%v\n%s", err, s.Log())
	}
	s.Kill()
	s, err := launch(c.T, c.place, "--listen", c.addresses[i])
	if err != nil {
		c.Errorf("a server that was killed does not start again: %v", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.servers[i] = s
	c.struck["kill"]++
}

// nap suspends a server for longer than its lease. In half of the cases another one is killed meanwhile.
func (c *chaos) nap(_ context.Context, r *rand.Rand) {
	i := r.IntN(chaosServers)
	c.mu.Lock()
	pid := c.servers[i].PID()
	c.mu.Unlock()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		c.Error(err)
	}
	over := time.After(nap)
	if r.IntN(2) == 0 {
		c.killOne((i + 1 + r.IntN(chaosServers-1)) % chaosServers)
	}
	<-over
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		c.Error(err)
	}
}

// trouble enables all faults of the simulated cluster for a while.
func (c *chaos) trouble(ctx context.Context, r *rand.Rand) {
	met, end := c.cluster.InjectFaults(r.Uint64())
	wait(ctx, 4*time.Second)
	end()
	c.Logf("trouble: %v", met)
}

// silencePD makes PD unavailable for a while.
func (c *chaos) silencePD(ctx context.Context, r *rand.Rand) {
	c.cluster.StopPD(errors.New("PD is away"))
	wait(ctx, time.Second+time.Duration(r.Int64N(int64(2*time.Second))))
	c.cluster.StopPD(nil)
}

// reshape changes the structure of the collections in use, and of others. Each command may be refused, or get
// no reply.
func (c *chaos) reshape(ctx context.Context) {
	r := rand.New(rand.NewPCG(c.seed, 2))
	admin := c.db.Client().Database("admin")
	ns := func(name string) string { return c.db.Name() + "." + name }
	for wait(ctx, 100*time.Millisecond) {
		name := []string{"log", "log", "bank", "lists"}[r.IntN(4)]
		side := fmt.Sprintf("side%d", r.IntN(3))
		var what string
		var do func(ctx context.Context) error
		switch r.IntN(9) {
		case 0:
			what = "split"
			do = func(ctx context.Context) error {
				return order(ctx, admin, bson.D{{Key: "split", Value: ns(name)}, {Key: "find", Value: bson.M{"_id": r.IntN(100), "k": r.IntN(17)}}})
			}
		case 1:
			what = "merge"
			do = func(ctx context.Context) error {
				return order(ctx, admin, bson.D{{Key: "mergeAllChunksOnShard", Value: ns(name)}, {Key: "shard", Value: fmt.Sprintf("p%d", r.IntN(4))}})
			}
		case 2:
			what = "moveChunk"
			do = func(ctx context.Context) error {
				return order(ctx, admin, bson.D{{Key: "moveChunk", Value: ns(name)}, {Key: "find", Value: bson.M{"_id": r.IntN(100), "k": r.IntN(17)}}, {Key: "to", Value: fmt.Sprintf("p%d", r.IntN(4))}})
			}
		case 3:
			what = "createIndexes"
			do = func(ctx context.Context) error {
				_, err := c.db.Collection(name).Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: fmt.Sprintf("f%d", r.IntN(2)), Value: 1}}})
				return err
			}
		case 4:
			what = "dropIndexes"
			do = func(ctx context.Context) error {
				return c.db.Collection(name).Indexes().DropOne(ctx, fmt.Sprintf("f%d_1", r.IntN(2)))
			}
		case 5:
			what = "reshardCollection"
			key := bson.M{"k": 1}
			if r.IntN(2) == 0 {
				key = bson.M{"_id": "hashed"}
			}
			do = func(ctx context.Context) error {
				return order(ctx, admin, bson.D{{Key: "reshardCollection", Value: ns("log")}, {Key: "key", Value: key}, {Key: "numInitialChunks", Value: 1 + r.IntN(3)}, {Key: "forceRedistribution", Value: true}})
			}
		case 6:
			what = "create"
			do = func(ctx context.Context) error {
				_, err := c.db.Collection(side).InsertOne(ctx, bson.M{"f0": r.IntN(5)})
				return err
			}
		case 7:
			what = "drop"
			do = func(ctx context.Context) error { return c.db.Collection(side).Drop(ctx) }
		default:
			what = "renameCollection"
			do = func(ctx context.Context) error {
				return order(ctx, admin, bson.D{{Key: "renameCollection", Value: ns(side)}, {Key: "to", Value: ns(fmt.Sprintf("side%d", r.IntN(3)))}, {Key: "dropTarget", Value: true}})
			}
		}
		if err := c.do(context.WithoutCancel(ctx), do); err == nil {
			c.mu.Lock()
			c.struck[what]++
			c.mu.Unlock()
		}
	}
}

// shard gives an unused collection a hashed shard key and some partitions.
func (c *chaos) shard(name string) {
	c.retry("shardCollection", func(ctx context.Context) error {
		return order(ctx, c.db.Client().Database("admin"), bson.D{{Key: "shardCollection", Value: c.db.Name() + "." + name}, {Key: "key", Value: bson.M{"_id": "hashed"}}, {Key: "numInitialChunks", Value: 3}})
	})
}

// session runs body in a transaction, once, without a retry. err is nil if the transaction was committed; unknown is
// true if the outcome of the commit is undetermined.
func (c *chaos) session(ctx context.Context, body func(ctx context.Context) error, o ...options.Lister[options.TransactionOptions]) (unknown bool, err error) {
	err = c.do(ctx, func(ctx context.Context) error {
		s, err := c.db.Client().StartSession()
		if err != nil {
			return err
		}
		defer s.EndSession(ctx)
		if err := s.StartTransaction(o...); err != nil {
			return err
		}
		in := mongo.NewSessionContext(ctx, s)
		if err := body(in); err != nil {
			_ = s.AbortTransaction(in)
			return err
		}
		err = s.CommitTransaction(in)
		unknown = err != nil && unanswered(err)
		return err
	})
	return unknown, err
}
