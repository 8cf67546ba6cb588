package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Cost of an operation as a store grows: in documents, in partitions, in collections. Measured only if --only names
// "flat", or one of "flat-documents", "flat-partitions" and "flat-collections". --documents bounds the largest
// collection of small documents.
const (
	flatName            = "flat"
	flatClients         = 16
	flatPartitionsOf    = 100_000 // documents
	flatCollectionsMost = 10_000
	flatWindow          = 200 // creations that are measured together
)

// isFlat reports whether a workload is one of this file.
func isFlat(name string) bool { return name == flatName || strings.HasPrefix(name, flatName+"-") }

// flats reports whether --only selects a workload of this file.
func (s settings) flats() bool {
	for name := range s.only {
		if isFlat(name) {
			return true
		}
	}
	return false
}

// measureFlat measures the selected dimensions.
func (r *runner) measureFlat(ctx context.Context, report func(result)) error {
	for _, dimension := range []struct {
		name string
		run  func(context.Context, func(result)) error
	}{
		{"documents", r.flatDocuments}, {"partitions", r.flatPartitions}, {"collections", r.flatCollections},
	} {
		if !r.settings.only[flatName] && !r.settings.only[flatName+"-"+dimension.name] {
			continue
		}
		if err := dimension.run(ctx, report); err != nil {
			return fmt.Errorf("%s: %w", dimension.name, err)
		}
	}
	return nil
}

// small is a document of about 60 bytes.
func small(id int64) bson.D {
	return bson.D{{Key: "_id", Value: id}, {Key: "n", Value: scatter(id)}, {Key: "text", Value: "some text"}}
}

// flatOperations are the operations that are measured at each size; of is the number of documents.
var flatOperations = []struct {
	name string
	run  func(c *mongo.Collection, ctx context.Context, random *rand.Rand, of int64) error
}{
	{"read", func(c *mongo.Collection, ctx context.Context, random *rand.Rand, of int64) error {
		_, err := c.FindOne(ctx, bson.D{{Key: "_id", Value: random.Int64N(of)}}).Raw()
		return err
	}},
	{"scan", func(c *mongo.Collection, ctx context.Context, random *rand.Rand, of int64) error {
		_, err := c.FindOne(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: random.Int64N(of)}}}}).Raw()
		return err
	}},
	{"update", func(c *mongo.Collection, ctx context.Context, random *rand.Rand, of int64) error {
		_, err := c.UpdateByID(ctx, random.Int64N(of), bson.D{{Key: "$set", Value: bson.D{{Key: "n", Value: random.Int64()}}}})
		return err
	}},
	{"insert", func(c *mongo.Collection, ctx context.Context, random *rand.Rand, of int64) error {
		_, err := c.InsertOne(ctx, small(rand.Int64()|1<<62))
		return err
	}},
}

// flatSize measures every operation on a collection.
func (r *runner) flatSize(ctx context.Context, c *mongo.Collection, size string, of int64, report func(result)) error {
	for _, o := range flatOperations {
		if o.name == "scan" && strings.HasSuffix(size, "-partitions") {
			continue // a scan reads every partition
		}
		if err := r.quiet(ctx); err != nil {
			return err
		}
		w := workload{name: o.name + " " + size, next: func(cl *client, ctx context.Context, _ int) error { return o.run(c, ctx, cl.random, of) }}
		got, err := r.measure(ctx, w, flatClients, time.Duration(r.settings.seconds*float64(time.Second)))
		if err != nil {
			return err
		}
		report(got)
	}
	return nil
}

// quiet waits until the server has finished background work, such as compactions: until it uses less than a
// twentieth of a processor for a second, at most for two minutes.
func (r *runner) quiet(ctx context.Context) error {
	for range 120 {
		before := processCPU(r.pid)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
		if processCPU(r.pid)-before < time.Second/20 {
			break
		}
	}
	return nil
}

// grow inserts small documents with _ids of at least from and less than to, with four clients.
func grow(ctx context.Context, c *mongo.Collection, from, to int64) error {
	const clients = 4
	var group sync.WaitGroup
	errs := make([]error, clients)
	part := (to - from + clients - 1) / clients
	for i := range int64(clients) {
		group.Go(func() {
			for id, end := from+i*part, min(from+(i+1)*part, to); id < end && errs[i] == nil && ctx.Err() == nil; {
				var batch []any
				for ; len(batch) < loadBatch && id < end; id++ {
					batch = append(batch, small(id))
				}
				_, errs[i] = c.InsertMany(ctx, batch)
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// flatDocuments measures operations on one collection that grows by factors of ten.
func (r *runner) flatDocuments(ctx context.Context, report func(result)) error {
	c := r.mongo.Database("bench").Collection("documents")
	for from, to := int64(0), int64(10_000); to <= int64(r.settings.documents); from, to = to, to*10 {
		m := r.begin(fmt.Sprintf("load %d", to), 4)
		if err := grow(ctx, c, from, to); err != nil {
			return err
		}
		m.operations = int(to - from)
		report(m.end())
		if err := r.flatSize(ctx, c, fmt.Sprint(to), to, report); err != nil {
			return err
		}
	}
	return nil
}

// flatPartitions measures operations on collections with more and more partitions.
func (r *runner) flatPartitions(ctx context.Context, report func(result)) error {
	for _, n := range []int{1, 4, 16, 64} {
		name := fmt.Sprintf("%d-partitions", n)
		err := r.mongo.Database("admin").RunCommand(ctx, bson.D{
			{Key: "shardCollection", Value: "bench." + name}, {Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}, {Key: "numInitialChunks", Value: n},
		}).Err()
		if err != nil {
			return err
		}
		c := r.mongo.Database("bench").Collection(name)
		if err := grow(ctx, c, 0, flatPartitionsOf); err != nil {
			return err
		}
		if err := r.flatSize(ctx, c, name, flatPartitionsOf, report); err != nil {
			return err
		}
	}
	return nil
}

// flatCollections measures the creation of collections and indexes while the number of collections grows, reads of
// another collection, and ten idle seconds.
func (r *runner) flatCollections(ctx context.Context, report func(result)) error {
	db := r.mongo.Database("many")
	if err := db.Drop(ctx); err != nil {
		return err
	}
	one := r.mongo.Database("bench").Collection("one")
	if err := grow(ctx, one, 0, 10_000); err != nil {
		return err
	}
	made := 0
	several := func(name string, n int, run func(i int) error) error {
		m := r.begin(name, 1)
		for i := range n {
			start := time.Now()
			if err := run(i); err != nil {
				return err
			}
			m.add(time.Since(start), 1)
		}
		report(m.end())
		return nil
	}
	create := func(int) error { made++; return db.CreateCollection(ctx, fmt.Sprint("c", made)) }
	for _, beside := range []int{0, 1000, 3000, 6000, flatCollectionsMost - flatWindow} {
		for made < beside {
			if err := create(0); err != nil {
				return err
			}
		}
		if err := several(fmt.Sprintf("create %d", beside), flatWindow, create); err != nil {
			return err
		}
		err := several(fmt.Sprintf("index %d", beside), flatWindow/4, func(i int) error {
			_, err := db.Collection("c1").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: fmt.Sprintf("f%d", i), Value: 1}}})
			return err
		})
		if err != nil {
			return err
		}
		if err := db.Collection("c1").Indexes().DropAll(ctx); err != nil {
			return err
		}
		w := workload{name: fmt.Sprintf("read %d", beside), next: func(cl *client, ctx context.Context, _ int) error {
			_, err := one.FindOne(ctx, bson.D{{Key: "_id", Value: cl.random.Int64N(10_000)}}).Raw()
			return err
		}}
		got, err := r.measure(ctx, w, flatClients, time.Duration(r.settings.seconds*float64(time.Second)))
		if err != nil {
			return err
		}
		report(got)
		m := r.begin(fmt.Sprintf("idle %d", beside), 0)
		time.Sleep(streamsIdle)
		m.add(streamsIdle, 10) // seconds
		report(m.end())
	}
	return nil
}
