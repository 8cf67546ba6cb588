package jobs

import (
	"context"
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage/keyspace"
)

type counts struct{}

func (r *Runner) expireLoop(ctx context.Context)       {}
func (r *Runner) checkpointLoop(ctx context.Context)   {}
func (r *Runner) truncateLoop(ctx context.Context)     {}
func (r *Runner) Checkpoint(ctx context.Context) error { return nil }

func (r *Runner) Reshard(ctx context.Context, id keyspace.CollectionID, command bson.Raw, next func(*catalog.Collection) (*catalog.Collection, error), log func(*catalog.Mutation, *catalog.Collection) error) (old, made *catalog.Collection, err error) {
	return nil, nil, nil
}
