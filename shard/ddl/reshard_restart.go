package ddl

import (
	"context"
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/shard/cluster"
)

// restartCommand encodes the options of a command that rewrites a collection for catalog.Rewriting, by which a
// restarted server repeats the command.
// Format: {<command>: "", key: {…}, unique, shards, force, zones: [{zone, min, max}]}; readers ignore the fields of a
// later version.
func (opts *ShardOptions) restartCommand(command string) bson.Raw {
	return commandDoc(func(b *bson.Builder) {
		b.String(command, "")
		b.Raw("key", opts.Key)
		b.Bool("unique", opts.Unique)
		b.Int32("shards", int32(opts.Shards))
		b.Bool("force", opts.Force)
		if opts.Zones == nil {
			return
		}
		b.BeginArray("zones")
		for _, z := range opts.Zones {
			b.BeginDoc("")
			b.String("zone", z.Name)
			b.Raw("min", z.Min)
			b.Raw("max", z.Max)
			b.End()
		}
		b.End()
	})
}

// parseRestartCommand decodes the options of a command that restartCommand has encoded.
func parseRestartCommand(command bson.Raw) (opts ShardOptions) {
	opts.Key, _ = command.Get("key").Doc()
	opts.Unique, _ = command.Get("unique").Boolean()
	opts.Force, _ = command.Get("force").Boolean()
	shards, _ := command.Get("shards").AsInt64()
	opts.Shards = int(shards)
	if zones, ok := command.Get("zones").Array(); ok {
		opts.Zones = []ZoneRange{}
		for it := zones.Iter(); it.Next(); {
			d, _ := it.Value.Doc()
			var z ZoneRange
			z.Name, _ = d.Get("zone").Str()
			z.Min, _ = d.Get("min").Doc()
			z.Max, _ = d.Get("max").Doc()
			opts.Zones = append(opts.Zones, z)
		}
	}
	return opts
}

// Rewrite repeats the command that was rewriting a collection when the server stopped.
// Errors: the errors of the command.
func (d *Definer) Rewrite(ctx context.Context, coll *catalog.Collection) error {
	env := mql.NewEnv(ctx)
	env.DB = coll.Namespace.DB
	o, ns := &cluster.Op{Env: env, TxnNumber: -1}, coll.Namespace
	command := coll.Rewriting.Command
	switch name := coll.Rewriting.Name(); name {
	case "reshardCollection":
		return d.ReshardCollection(o, ns, parseRestartCommand(command))
	case "refineCollectionShardKey":
		return d.RefineShardKey(o, ns, parseRestartCommand(command).Key)
	case "shardCollection":
		return d.ShardCollection(o, ns, parseRestartCommand(command))
	case "unshardCollection":
		to, _ := command.Get("to").AsInt64()
		return d.UnshardCollection(o, ns, shard.ID(to))
	default:
		return fmt.Errorf("%s cannot be repeated by this version", name)
	}
}
