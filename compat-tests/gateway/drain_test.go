package gateway

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// duties are the work that the server at an address does for all.
func duties(t *testing.T, c *mongo.Client, address string) (names []string) {
	t.Helper()
	d := listed(t, c)[address]
	own, _ := d["cantle"].(bson.D)
	for _, e := range own {
		if list, ok := e.Value.(bson.A); ok && e.Key == "duties" {
			for _, name := range list {
				if name != "expire" {
					names = append(names, fmt.Sprint(name))
				}
			}
		}
	}
	return names
}

// loops is the work that somebody always does, beside expiry: whoever comes first has that, once a minute.
const loops = 5

// lookEvery is how often it is asked who has which work.
const lookEvery = 50 * time.Millisecond

// A server that is asked to end hands its work back: another one takes it over at once, not when a lease is over. Clients that know both see nothing of it.
func TestDrain(t *testing.T) {
	_, place := cluster(t)
	first := mustLaunch(t, place)
	second := mustLaunch(t, place)
	at := connect(t, second.URI)
	for len(duties(t, at, first.Addr))+len(duties(t, at, second.Addr)) < loops {
		time.Sleep(lookEvery)
	}
	t.Logf("before: %v and %v", duties(t, at, first.Addr), duties(t, at, second.Addr))
	coll := connect(t, hosts(first, second)).Database("test").Collection("c")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	counts := make([]count, 4)
	for w := range counts {
		wg.Go(func() { counts[w] = increment(ctx, t, coll, w) })
	}
	select {
	case <-time.After(500 * time.Millisecond):
	case <-t.Context().Done():
	}
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	begun := time.Now()
	for len(duties(t, at, second.Addr)) < loops {
		time.Sleep(lookEvery)
	}
	t.Logf("another server has all the work after %v", time.Since(begun))
	if n := len(listed(t, at)); n != 1 {
		t.Errorf("%d servers are listed", n)
	}
	cancel()
	wg.Wait()
	for w, c := range counts {
		if c.unknown != 0 || c.acknowledged == 0 {
			t.Errorf("writer %d: %d increments, and of %d nobody was told", w, c.acknowledged, c.unknown)
		}
	}
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
}
