package rooms

import (
	"slices"
	"testing"

	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/virtual"
)

// Every source stage that does not compute its documents itself has a room that computes them, and the rooms compute
// documents only for source stages.
func TestEverySourceHasDocuments(t *testing.T) {
	answered := newWorld(t, nil).Stages
	byItself := []string{"$changeStream", "$documents", "$rankFusion", "$scoreFusion"}
	for _, d := range agg.Stages {
		made := slices.ContainsFunc(answered, func(x virtual.Stage) bool { return x.Name == d.Name })
		if want := d.Source && !slices.Contains(byItself, d.Name); made != want {
			t.Errorf("%s is answered: %v, want %v", d.Name, made, want)
		}
	}
	for _, x := range answered {
		if agg.FindStage(x.Name) == nil {
			t.Errorf("a room answers %s, which is no stage", x.Name)
		}
	}
}

// The privileges in the rows of stages are existing actions, and those on the cluster are actions of the cluster. A
// source stage that returns other data than documents requires a privilege in its row.
func TestStagePrivileges(t *testing.T) {
	for _, d := range agg.Stages {
		for _, p := range d.Privileges {
			a, ok := auth.ActionNamed(p.Action)
			if !ok {
				t.Errorf("%s needs the action %s, which does not exist", d.Name, p.Action)
			} else if p.On == agg.OnCluster && !a.OfCluster() {
				t.Errorf("%s needs %s on the cluster, which it is not for", d.Name, p.Action)
			}
		}
		if d.Source && !d.BySelf && d.Name != "$documents" && len(d.Privileges) == 0 {
			t.Errorf("%s shows what the server knows to everybody", d.Name)
		}
	}
}
