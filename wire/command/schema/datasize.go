package schema

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/tally"
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
	estimate := false
	err := c.Each(func(name string, v bson.Value) (_ bool, err error) {
		switch name {
		case "keyPattern":
			key, err = c.DocArg(name, v)
		case "min":
			lo, err = c.DocArg(name, v)
		case "max":
			hi, err = c.DocArg(name, v)
		case "estimate":
			estimate, err = c.BoolArg(name, v)
		case "maxSize", "maxObjects":
			_, err = c.LongArg(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	if (lo == nil) != (hi == nil) {
		return mongoerr.New(mongoerr.BadValue, "only one of min or max specified")
	}
	start := c.Cluster.Now()
	var n tally.Count
	coll := c.Cluster.Catalog.Peek().Collection(ns)
	switch {
	case coll != nil && coll.Options.TimeSeries != nil:
		return mongoerr.New(mongoerr.CommandNotSupportedOnView, "%s is a time-series collection", ns)
	case coll == nil:
	case coll.IsView():
		return mongoerr.ViewNotAllowed(ns.String())
	case lo == nil:
		n = c.Cluster.Tally.Of(coll.ID).Total(coll.Map)
	default:
		if err := coveringIndex(coll, key, lo); err != nil {
			return err
		}
		if n, err = sizeBetween(c, ns, key, lo, hi); err != nil {
			return err
		}
	}
	c.Reply.Int64("size", n.Bytes)
	c.Reply.Int64("numObjects", n.Docs)
	c.Reply.Int64("millis", c.Cluster.Now().Sub(start).Milliseconds())
	c.Reply.Bool("estimate", estimate)
	return nil
}

// coveringIndex wants an index that begins with the fields of a key.
// Errors: OperationFailed (96).
func coveringIndex(coll *catalog.Collection, key, lo bson.Raw) error {
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

// sizeBetween adds up the documents between two bounds of a key: a document
// belongs when its first field lies between those of the bounds.
func sizeBetween(c *command.Call, ns collection.Namespace, key, lo, hi bson.Raw) (n tally.Count, err error) {
	f, ok := key.First()
	if !ok {
		f, ok = lo.First()
	}
	if !ok {
		return n, mongoerr.New(mongoerr.BadValue, "min and max must not be empty")
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
	err = c.Drain(ns, []bson.Raw{b.Doc()}, bson.Value{}, func(d bson.Raw) error {
		n.Docs++
		n.Bytes += int64(len(d))
		return nil
	})
	return n, err
}
