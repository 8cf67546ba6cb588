package driver

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// unending is an expression that takes far longer to evaluate than the test lasts.
var unending = d("$size", d("$filter", d("input", d("$range", bson.A{0, 1_000_000}), "cond", d("$in", bson.A{"$$this", d("$range", bson.A{2_000_000, 3_000_000})}))))

// slowWork are commands on the collections slow and checked that take longer than the DDL of the test, which runs
// beside them.
var slowWork = []struct {
	name string
	// field is the field of the running command, as currentOp shows it, that has the collection's name.
	field string
	cmd   bson.D
}{
	{"a document that is changed for long", "update", d("update", "slow", "updates", bson.A{d("q", d("_id", 0), "u", bson.A{d("$set", d("z", unending))})})},
	{"an upsert", "update", d("update", "slow", "updates", bson.A{d("q", d("_id", "new"), "u", bson.A{d("$set", d("z", unending))}, "upsert", true)})},
	{"many documents that are changed", "update", d("update", "slow", "updates", bson.A{d("q", d("$expr", d("$gte", bson.A{unending, 0})), "u", d("$inc", d("z", 1)), "multi", true)})},
	{"documents that are deleted", "delete", d("delete", "slow", "deletes", bson.A{d("q", d("$expr", d("$gte", bson.A{unending, 0})), "limit", 0)})},
	{"an insert that is checked for long", "insert", d("insert", "checked", "documents", bson.A{d("_id", 1)})},
	{"an index over large arrays", "createIndexes", d("createIndexes", "slow", "indexes", bson.A{d("key", d("a", 1), "name", "a"), d("key", d("a", -1, "_id", 1), "name", "b"), d("key", d("$**", 1), "name", "c")})},
	{"a new collection that is filled", "aggregate", d("aggregate", "slow", "cursor", d(), "pipeline", bson.A{d("$unset", "a"), d("$set", d("z", unending)), d("$out", "filled")})},
	{"documents that are merged", "aggregate", d("aggregate", "slow", "cursor", d(), "pipeline", bson.A{d("$unset", "a"), d("$merge", d("into", "merged", "whenMatched", bson.A{d("$set", d("z", unending))}))})},
	{"a validation", "validate", d("validate", "slow", "full", true)},
}

// TestDDLBesideSlowWork checks that a slow writer, an index build, a validation or an open transaction on one
// collection does not block DDL on other collections.
func TestDDLBesideSlowWork(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	server := harness.Start(t, harness.Options{Data: t.TempDir()})
	s := &surveyed{T: t, ctx: ctx, server: server, client: server.Client(t)}
	s.db = s.client.Database("slow")
	numbers := make(bson.A, 200_000)
	for i := range numbers {
		numbers[i] = i * 31 % 200_009
	}
	for i := range 10 {
		if _, err := s.db.Collection("slow").InsertOne(ctx, d("_id", i, "a", numbers)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.db.Collection("merged").InsertOne(ctx, d("_id", i)); err != nil {
			t.Fatal(err)
		}
	}
	s.run(s.db, d("create", "checked", "validator", d("$expr", d("$gte", bson.A{unending, 0}))))
	s.run(s.db, d("collMod", "slow", "validator", d("$expr", d("$gte", bson.A{unending, 0})), "validationLevel", "off"))
	for _, w := range slowWork {
		t.Run(w.name, func(t *testing.T) {
			s := *s
			s.T = t
			level := "off"
			if w.field == "validate" {
				level = "strict"
			}
			s.run(s.db, d("collMod", "slow", "validationLevel", level))
			ended := make(chan error, 1)
			go func() { ended <- s.db.RunCommand(ctx, w.cmd).Err() }()
			id := s.working(w.field, ended)
			s.ddl()
			if now := s.working(w.field, ended); now != id {
				t.Errorf("what runs is %d, no longer %d", now, id)
			}
			s.run(s.client.Database("admin"), d("killOp", 1, "op", id))
			var e mongo.CommandError
			var w mongo.WriteException
			if err := <-ended; err == nil || errors.As(err, &e) && e.Code != 11601 || errors.As(err, &w) {
				t.Errorf("it ended with %v", err)
			}
		})
	}
	t.Run("a transaction", func(t *testing.T) {
		s := *s
		s.T = t
		session, err := s.client.StartSession()
		if err != nil {
			t.Fatal(err)
		}
		defer session.EndSession(ctx)
		if err := session.StartTransaction(); err != nil {
			t.Fatal(err)
		}
		in := mongo.NewSessionContext(ctx, session)
		for _, name := range []string{"merged", "new"} {
			if _, err := s.db.Collection(name).InsertOne(in, d("_id", "in a transaction")); err != nil {
				t.Fatal(err)
			}
		}
		s.ddl()
		if err := session.CommitTransaction(ctx); err != nil {
			t.Error(err)
		}
	})
}

// working returns the opid of the command of slowWork that is running. It waits until there is one, and fails if the
// command has ended.
func (s *surveyed) working(field string, ended chan error) int64 {
	s.Helper()
	for {
		var r struct{ Inprog []struct{ Opid int64 } }
		filter := bson.D{{Key: "currentOp", Value: 1}, {Key: "command." + field, Value: bson.D{{Key: "$in", Value: bson.A{"slow", "checked"}}}}}
		if err := s.client.Database("admin").RunCommand(s.ctx, filter).Decode(&r); err != nil {
			s.Fatal(err)
		}
		if len(r.Inprog) > 0 {
			return r.Inprog[0].Opid
		}
		select {
		case err := <-ended:
			s.Fatalf("the slow work has ended: %v", err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// ddl runs DDL of many kinds on other collections than those of slowWork, in the same database and in another one.
func (s *surveyed) ddl() {
	s.Helper()
	admin := s.client.Database("admin")
	for _, name := range []string{s.db.Name(), "beside"} {
		db := s.client.Database(name)
		s.run(db, d("create", "c"))
		if _, err := db.Collection("c").InsertMany(s.ctx, []any{d("_id", 1, "n", 1), d("_id", 2, "n", 2)}); err != nil {
			s.Fatal(err)
		}
		s.run(db, d("createIndexes", "c", "indexes", bson.A{d("key", d("n", 1), "name", "n"), d("key", d("m", 1), "name", "m", "expireAfterSeconds", 1000)}))
		s.run(db, d("collMod", "c", "validator", d("n", d("$gt", 0))))
		s.run(db, d("collMod", "c", "index", d("name", "m", "expireAfterSeconds", 2000)))
		s.run(db, d("dropIndexes", "c", "index", "n"))
		s.run(db, d("create", "v", "viewOn", "c", "pipeline", bson.A{}))
		s.run(admin, d("renameCollection", name+".c", "to", name+".d"))
		s.run(admin, d("shardCollection", name+".e", "key", d("k", "hashed")))
		s.run(admin, d("reshardCollection", name+".e", "key", d("k", 1)))
		s.run(db, d("convertToCapped", "d", "size", 100_000))
		for _, coll := range []string{"d", "e", "v"} {
			s.run(db, d("drop", coll))
		}
	}
	s.run(s.client.Database("beside"), d("dropDatabase", 1))
}
