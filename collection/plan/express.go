package plan

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Express plans the most frequent find, a filter {_id: value}, without parsing the filter: a point read. The
// position of the record must follow from _id alone. ok is false for every other find, for rarer types of value,
// for a string under a collation, and for a collection with an order of its own: Canonical and Candidates plan these.
func Express(env *mql.Env, c *catalog.Collection, f *Find) (n *PointRead, ok bool) {
	if c.Options.OwnOrder() ||
		len(f.Sort) > 5 || len(f.Min) > 5 || len(f.Max) > 5 || f.Skip > 0 || f.ReturnKey || f.ShowRecordID || f.Metas != 0 || !f.Hint.IsMissing() {
		return nil, false
	}
	it := f.Filter.Iter()
	if !it.Next() || string(it.Name) != "_id" {
		return nil, false
	}
	id := it.Value
	if it.Next() {
		return nil, false
	}
	switch id.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeObjectID, bson.TypeDateTime, bson.TypeBinary, bson.TypeBool, bson.TypeTimestamp:
	case bson.TypeString:
		if env.Collation != nil || c.Options.Collation != nil {
			return nil, false
		}
	default:
		return nil, false
	}
	h := keyspace.HashMin
	if c.Sharded() {
		if !c.Key.IsID() || c.Key.TailParts() > 0 {
			return nil, false
		}
		h = c.Key.HashValue(id)
	}
	x := &express{PointRead: PointRead{Hash: h}}
	x.ID = keystring.Append(x.id[:0], id, keystring.Ascending, nil, nil)
	return &x.PointRead, true
}

// express is a point read and the memory of a usual _id in one allocation.
type express struct {
	PointRead
	id [24]byte
}
