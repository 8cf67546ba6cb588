package schema

import (
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// runDataSize answers dataSize. Manual: reference/command/dataSize.
func runDataSize(c *command.Call) error {
	if c.Value.Type != bson.TypeString {
		return mongoerr.WrongType("dataSize.dataSize", c.Value.Type.String(), "string")
	}
	s, _ := c.Value.Str()
	ns := collection.ParseNamespace(s)
	if ns.Coll == "" {
		return mongoerr.BadNamespace(s)
	}
	if err := collection.CheckNamespace(ns); err != nil {
		return err
	}
	var lo, hi, key bson.Raw
	var most tally.Count
	estimate := false
	err := c.ReadArgs(
		arguments.Doc("keyPattern", &key),
		arguments.Doc("min", &lo),
		arguments.Doc("max", &hi),
		arguments.Bool("estimate", &estimate),
		arguments.Long("maxSize", &most.Bytes),
		arguments.Long("maxObjects", &most.Docs),
	)
	if err != nil {
		return err
	}
	if (lo == nil) != (hi == nil) {
		return mongoerr.New(mongoerr.BadValue, "only one of min or max specified")
	}
	start := c.Cluster.Now()
	var n tally.Count
	reached := false
	coll := c.Cluster.Catalog().Collection(ns)
	switch {
	case coll != nil && coll.Options.TimeSeries != nil:
		return mongoerr.New(mongoerr.CommandNotSupportedOnView, "%s is a time-series collection", ns)
	case coll == nil:
	case coll.IsView():
		return mongoerr.ViewNotAllowed(ns.String())
	case lo == nil && most == (tally.Count{}):
		n = c.Cluster.Counts(coll.ID).Total(coll.Map)
	default:
		var stages []bson.Raw
		if lo != nil {
			if err := requireIndex(coll, key, lo); err != nil {
				return err
			}
			between, err := stageBetween(key, lo, hi)
			if err != nil {
				return err
			}
			stages = append(stages, between)
		}
		if n, reached, err = sizeOf(c, ns, stages, most); err != nil {
			return err
		}
	}
	c.Reply.Int64("size", n.Bytes)
	c.Reply.Int64("numObjects", n.Docs)
	if reached {
		c.Reply.Bool("maxReached", true)
	}
	c.Reply.Int64("millis", c.Cluster.Now().Sub(start).Milliseconds())
	c.Reply.Bool("estimate", estimate)
	return nil
}

// requireIndex refuses a collection that has no index whose first fields are those of a key. If the key is empty, it
// uses the fields of the bound lo.
// Errors: OperationFailed (96).
func requireIndex(coll *catalog.Collection, key, lo bson.Raw) error {
	if key.IsEmpty() {
		key = lo
	}
next:
	for _, ix := range coll.Indexes {
		have := ix.Key.Iter()
		for want := key.Iter(); want.Next(); {
			if !have.Next() || string(have.Name) != string(want.Name) {
				continue next
			}
		}
		return nil
	}
	return mongoerr.New(mongoerr.OperationFailed, "couldn't find valid index containing key pattern %s", key)
}

// errReached ends the read of sizeOf.
var errReached = errors.New("enough has been read")

// sizeOf counts the documents that a pipeline returns, and their bytes. It stops when either count exceeds the one in
// most, where 0 means no limit; reached reports that.
func sizeOf(c *command.Call, ns collection.Namespace, stages []bson.Raw, most tally.Count) (n tally.Count, reached bool, err error) {
	err = c.Drain(ns, stages, bson.Value{}, func(d bson.Raw) error {
		n.Docs++
		n.Bytes += int64(len(d))
		if most.Docs > 0 && n.Docs > most.Docs || most.Bytes > 0 && n.Bytes > most.Bytes {
			return errReached
		}
		return nil
	})
	if errors.Is(err, errReached) {
		return n, true, nil
	}
	return n, false, err
}

// stageBetween returns a $match stage for the documents from the bound lo, included, to the bound hi, excluded. Of a
// key with several fields only the first is compared.
func stageBetween(key, lo, hi bson.Raw) (bson.Raw, error) {
	f, ok := key.First()
	if !ok {
		f, ok = lo.First()
	}
	if !ok {
		return nil, mongoerr.New(mongoerr.BadValue, "min and max must not be empty")
	}
	field := string(f.Name)
	b := bson.NewBuilder(nil)
	b.BeginDoc("$match")
	b.BeginDoc("$expr")
	b.BeginArray("$and")
	for _, x := range []struct {
		op string
		v  bson.Value
	}{{"$gte", lo.Get(field)}, {"$lt", hi.Get(field)}} {
		b.BeginDoc("")
		b.BeginArray(x.op)
		b.String("", "$"+field)
		b.BeginDoc("")
		b.Value("$literal", x.v)
		b.End()
		b.End()
		b.End()
	}
	b.End()
	b.End()
	b.End()
	return b.Doc(), nil
}
