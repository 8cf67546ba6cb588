package command

import (
	"slices"
	"testing"

	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/wire/auth"
)

// Every source that does not make its documents by itself has a row in stageSources,
// and every row there is a source.
func TestEverySourceHasDocuments(t *testing.T) {
	byItself := []string{"$changeStream", "$documents", "$rankFusion"}
	for _, d := range agg.Stages {
		made := slices.ContainsFunc(stageSources, func(x stageSource) bool { return x.name == d.Name })
		if want := d.Source && !slices.Contains(byItself, d.Name); made != want {
			t.Errorf("%s has a row in stageSources: %v, want %v", d.Name, made, want)
		}
	}
	for _, x := range stageSources {
		if agg.FindStage(x.name) == nil {
			t.Errorf("stageSources has %s, which is no stage", x.name)
		}
	}
}

// The privileges of stages are actions that exist, on what they may be on. A source
// that shows something else than documents needs one, or says in its row when.
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
