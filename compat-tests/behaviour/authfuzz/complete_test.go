package authfuzz

import (
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/collection/agg"
)

// TestComplete checks that the lists have a request for every command of the server and for every stage.
func TestComplete(t *testing.T) {
	c := newCorpus(t)
	w := newWorld(t, rand.New(rand.NewPCG(1, 2)))
	reply, err := w.root.do("admin", `{listCommands: 1}`)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := reply.Get("commands").Doc()
	for name := range list.Fields() {
		if c.commands[string(name)] == nil {
			t.Errorf("commandLines has no request for %s", name)
		}
	}
	for _, s := range agg.Stages {
		if c.stages[s.Name] == nil {
			t.Errorf("stageLines has none for %s", s.Name)
		}
	}
	if err := w.end(); err != nil {
		t.Error(err)
	}
}
