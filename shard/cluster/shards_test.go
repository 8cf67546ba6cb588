package cluster

import (
	"errors"
	"testing"

	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
)

// closing counts how often an operator is closed.
type closing struct {
	exec.Operator
	closed *int
}

func (c closing) Close() {
	*c.closed++
	c.Operator.Close()
}

// TestShardsFailing: if the operator of the third shard cannot be made, onShards closes those of the two shards before
// it.
func TestShardsFailing(t *testing.T) {
	bad := errors.New("bad")
	closed := 0
	sol := &plan.Solution{Shards: &plan.EOF{}}
	shards := []*shard.Descriptor{{ID: 1}, {ID: 2}, {ID: 3}}
	ops, err := onShards(sol, 0, exec.Source{}, shards, func(d *shard.Descriptor, in exec.Operator) (exec.Operator, error) {
		if d.ID == 3 {
			in.Close()
			return nil, bad
		}
		return closing{in, &closed}, nil
	})
	if ops != nil || !errors.Is(err, bad) || closed != 2 {
		t.Errorf("operators %v, error %v, %d closed", ops, err, closed)
	}
}
