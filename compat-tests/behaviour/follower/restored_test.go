package follower

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestRestoredAfterPromotion restores the newest state of a place of backups in which a promotion happened. With the same place the restored
// server does not start: it would be a second primary. With a place of its own it starts in the same term, and followers that are
// promoted there get later ones, so that drivers accept them.
func TestRestoredAfterPromotion(t *testing.T) {
	p := startPair(t)
	ctx := harness.Context(t)
	if err := p.Primary.Stop(); err != nil {
		t.Fatal(err)
	}
	p.Promote()
	if _, err := p.Direct(p.Follower).Database("shop").Collection("acked").InsertOne(ctx, bson.D{{Key: "_id", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	election := p.Hello(p.Follower).Lookup("electionId").ObjectID()
	if err := p.Follower.Stop(); err != nil { // which completes its backups
		t.Fatal(err)
	}
	dir := t.TempDir()
	data, place := filepath.Join(dir, "restored"), filepath.Join(dir, "backups")
	binary, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(binary, "restore", "--from", p.Backups, "--data", data).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if s, err := p.TryLaunch(data, p.Ports[0], p.Ports[1], "--backup-to", p.Backups); err == nil {
		t.Error("the restored server starts with the place of the promoted one")
		s.Kill()
	} else if !strings.Contains(err.Error(), "a place of backups of its own") {
		t.Errorf("the restored server with the place of the promoted one: %v", err)
	}
	p.Primary = p.Launch(data, p.Ports[0], p.Ports[1], "--backup-to", place, "--backup-log-interval", "1s")
	if got := p.Hello(p.Primary).Lookup("electionId").ObjectID(); got != election {
		t.Errorf("electionId of the restored server: %s, that of the promoted one was %s", got.Hex(), election.Hex())
	}
	if err := p.Direct(p.Primary).Database("shop").Collection("acked").FindOne(ctx, bson.D{{Key: "_id", Value: 1}}).Err(); err != nil {
		t.Error(err)
	}
	p.Await(func() error { // until the first backup is complete
		s, err := p.TryLaunch(filepath.Join(dir, "copy"), p.Ports[1], p.Ports[0], "--follow", place)
		if err == nil {
			p.Follower = s
		}
		return err
	})
	p.Promote()
	p.Await(func() error {
		if got := p.Hello(p.Follower).Lookup("electionId").ObjectID(); got.Hex() <= election.Hex() {
			return errors.New("electionId after the promotion: " + got.Hex())
		}
		return nil
	})
}
