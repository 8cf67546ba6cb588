package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// chunkSelector holds the arguments by which a command names a partition to split, merge or move: a document, values
// of the shard key, a bound, or a pair of bounds.
type chunkSelector struct {
	find, middle, min, max bson.Raw
	bounds                 []bson.Raw
	to                     string
}

// row returns the row of an argument.
func (p *chunkSelector) row(name string) arguments.Arg {
	switch name {
	case "find":
		return arguments.Doc(name, &p.find)
	case "middle":
		return arguments.Doc(name, &p.middle)
	case "min":
		return arguments.Doc(name, &p.min)
	case "max":
		return arguments.Doc(name, &p.max)
	case "bounds":
		return arguments.Docs(name, &p.bounds, 2).Check(func() error {
			if len(p.bounds) != 2 {
				return mongoerr.New(mongoerr.BadValue, "'bounds' must hold two documents")
			}
			return nil
		})
	case "to", "toShard", "shard":
		return arguments.String(name, &p.to)
	}
	return arguments.Ignored(name)
}

// parseChunkSelector reads the arguments of the commands about chunks.
func parseChunkSelector(c *command.Call, allowed ...string) (p chunkSelector, err error) {
	rows := make([]arguments.Arg, len(allowed))
	for i, name := range allowed {
		rows[i] = p.row(name)
	}
	err = c.ReadArgs(rows...)
	return p, err
}

// chunk returns the partition that the arguments of a command select.
// Errors: BadValue (2), ShardKeyNotFound (61).
func (p *chunkSelector) chunk(coll *catalog.Collection) (*shard.Descriptor, error) {
	switch {
	case p.find != nil:
		if path, missing := coll.Key.Missing(p.find); missing {
			return nil, mongoerr.New(mongoerr.ShardKeyNotFound, "no shard key found in chunk query %s: '%s' is missing", p.find, path)
		}
		h, err := coll.Position(p.find)
		if err != nil {
			return nil, err
		}
		return coll.Home(p.find, h), nil
	case len(p.bounds) == 2:
		return chunkAt(coll, p.bounds[0])
	case p.min != nil:
		return chunkAt(coll, p.min)
	}
	return nil, mongoerr.New(mongoerr.BadValue, "one of 'find', 'bounds' and 'min' must be given")
}

// chunkAt returns the partition whose lower bound is the given one.
// Errors: BadValue (2) if none begins there.
func chunkAt(coll *catalog.Collection, bound bson.Raw) (*shard.Descriptor, error) {
	p, end, err := coll.Key.ParseBound(bound, true)
	if err != nil {
		return nil, err
	}
	if d := coll.Map.FindBegin(p); d != nil && !end {
		return d, nil
	}
	return nil, mongoerr.New(mongoerr.BadValue, "no chunk of %s begins at %s", coll.Namespace, bound)
}

// shardedCollection returns the collection that a command names, if it is sharded.
// Errors: NamespaceNotSharded (118), errors of shardedNamespace.
func shardedCollection(c *command.Call) (*catalog.Collection, error) {
	ns, err := shardedNamespace(c)
	if err != nil {
		return nil, err
	}
	coll := c.Cluster.Catalog().Collection(ns)
	if coll == nil || !coll.Sharded() {
		return nil, mongoerr.New(mongoerr.NamespaceNotSharded, "Collection '%s' is not sharded", ns)
	}
	return coll, nil
}
