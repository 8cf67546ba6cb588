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

// surveyed is a server with a collection whose validation (the command validate) takes minutes, because its validator
// is slow. The tests check that a validation that ends earlier was interrupted.
type surveyed struct {
	*testing.T
	ctx    context.Context
	server *harness.Server
	client *mongo.Client
	db     *mongo.Database
}

func newSurveyed(t *testing.T) *surveyed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	// The drain (--drain) lasts longer than the test, so that the server does not interrupt commands at its end.
	server := harness.Start(t, harness.Options{Data: t.TempDir(), Args: []string{"--drain", "10m"}})
	client, err := harness.Connect(server.URI) // stays open longer than the server
	if err != nil {
		t.Fatal(err)
	}
	s := &surveyed{T: t, ctx: ctx, server: server, client: client}
	s.db = s.client.Database("survey")
	return s
}

// fill makes a collection.
func (s *surveyed) fill(name string) {
	s.Helper()
	docs := make([]any, 5000)
	for i := range docs {
		docs[i] = d("_id", i, "n", i%10)
	}
	coll := s.db.Collection(name)
	if _, err := coll.InsertMany(s.ctx, docs); err != nil {
		s.Fatal(err)
	}
	if _, err := coll.Indexes().CreateOne(s.ctx, mongo.IndexModel{Keys: d("n", 1)}); err != nil {
		s.Fatal(err)
	}
	slow := d("$expr", d("$gte", bson.A{d("$size", d("$filter", d("input", d("$range", bson.A{0, 200_000}), "cond", d("$lt", bson.A{"$$this", 5})))), 0}))
	s.run(s.db, d("collMod", name, "validator", slow))
}

func (s *surveyed) run(db *mongo.Database, cmd bson.D) {
	s.Helper()
	if err := db.RunCommand(s.ctx, cmd).Err(); err != nil {
		s.Fatalf("%v: %v", cmd[0], err)
	}
}

// running returns the opids of the running validations.
func (s *surveyed) running() (ids []int64) {
	s.Helper()
	var r struct{ Inprog []struct{ Opid int64 } }
	if err := s.client.Database("admin").RunCommand(s.ctx, bson.D{{Key: "currentOp", Value: 1}, {Key: "command.validate", Value: bson.D{{Key: "$exists", Value: true}}}}).Decode(&r); err != nil {
		s.Fatal(err)
	}
	for _, op := range r.Inprog {
		ids = append(ids, op.Opid)
	}
	return ids
}

// begin starts a validation and waits until it runs.
func (s *surveyed) begin(ctx context.Context, cmd bson.D) (id int64, ended chan error) {
	s.Helper()
	ended = make(chan error, 1)
	go func() { ended <- s.db.RunCommand(ctx, cmd).Err() }()
	for {
		if ids := s.running(); len(ids) > 0 {
			return ids[0], ended
		}
		select {
		case err := <-ended:
			s.Fatalf("it ended before it was seen: %v", err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// want checks the error code with which a validation ended, and that no validation is running any more.
func (s *surveyed) want(ended chan error, code int) {
	s.Helper()
	var e mongo.CommandError
	if err := <-ended; !errors.As(err, &e) || int(e.Code) != code {
		s.Errorf("it ended with %v, not with code %d", err, code)
	}
	s.nothingLeft()
}

func (s *surveyed) nothingLeft() {
	s.Helper()
	for len(s.running()) > 0 {
		if s.ctx.Err() != nil {
			s.Fatal("a validation goes on")
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// TestValidateEnds checks that a running validation ends when it is killed by killOp, its time limit is over, its
// client disconnects, or its collection is dropped, and that the collection can be used afterwards.
func TestValidateEnds(t *testing.T) {
	for _, option := range []string{"", "full", "background"} {
		t.Run("option "+option, func(t *testing.T) {
			s := newSurveyed(t)
			s.fill("c")
			cmd := d("validate", "c")
			if option != "" {
				cmd = append(cmd, bson.E{Key: option, Value: true})
			}
			id, ended := s.begin(s.ctx, cmd)
			s.run(s.client.Database("admin"), d("killOp", 1, "op", id))
			s.want(ended, 11601)

			limited := append(cmd[:len(cmd):len(cmd)], bson.E{Key: "maxTimeMS", Value: 300})
			_, ended = s.begin(s.ctx, limited)
			s.want(ended, 50)

			ctx, leave := context.WithCancel(s.ctx)
			_, ended = s.begin(ctx, cmd)
			leave()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			s.nothingLeft()

			_, ended = s.begin(s.ctx, cmd)
			s.run(s.db, d("createIndexes", "c", "indexes", bson.A{d("key", d("x", 1), "name", "x")})) // nothing blocks it
			s.run(s.client.Database("admin"), d("renameCollection", "survey.c", "to", "survey.d"))
			if len(s.running()) != 1 {
				t.Error("a validation does not outlast the building of an index and a new name")
			}
			s.run(s.db, d("drop", "d"))
			s.want(ended, 175)
			s.fill("c") // recreates the collection
			s.run(s.db, d("drop", "c"))
		})
	}
}

// TestValidateEndsWithTheServer checks that a shutdown of the server interrupts a running validation at once, with the
// error 11600, although the drain, in which most other commands may complete, would last ten minutes.
func TestValidateEndsWithTheServer(t *testing.T) {
	s := newSurveyed(t)
	s.fill("c")
	begun := time.Now()
	_, ended := s.begin(s.ctx, d("validate", "c", "full", true))
	stopped := make(chan error, 1)
	go func() { stopped <- s.server.Stop() }()
	var e mongo.CommandError
	if err := <-ended; !errors.As(err, &e) || e.Code != 11600 {
		t.Errorf("it ended with %v", err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	t.Logf("after %v", time.Since(begun).Round(time.Millisecond))
}
