package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
)

// scanMax is the maximum length of a scan, and queryLimit the number of documents of a query.
const (
	scanMax    = 100
	queryLimit = 20
)

// commands makes the commands of a run.
type commands struct {
	coll      string
	model     model
	fields    int
	fieldSize int
	run       string // distinguishes the documents inserted by this run from those of earlier ones
	loaded    int64
	charged   bool // a Cantle server adds the charge to a reply, if the comment requests it
}

// id returns the _id of the document with a number. Its digits are scattered, so that consecutive documents do not lie
// beside each other.
func (c *commands) id(n int64) string {
	id := fmt.Sprintf("%s%020d", records.prefix, scatter(uint64(n)))
	if n >= c.loaded {
		id += c.run
	}
	return id
}

// key returns the value of the shard key of the document with a number.
func (c *commands) key(n int64) string {
	if c.model.values == 0 {
		return c.id(n)
	}
	return fmt.Sprintf("%s%d", c.model.prefix, n%int64(c.model.values))
}

// document returns the document with a number.
func (c *commands) document(n int64, r *rand.Rand) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("_id", c.id(n))
	if c.model.values > 0 {
		b.String(c.model.shardKey, c.key(n))
		b.DateTime("at", time.Now().UnixMilli())
	}
	for i := range c.fields {
		b.String(fmt.Sprintf("field%d", i), c.text(r))
	}
	return b.Doc()
}

// text returns a random text of the size of a field.
func (c *commands) text(r *rand.Rand) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	var b strings.Builder
	b.Grow(c.fieldSize)
	for b.Len() < c.fieldSize {
		for x, i := r.Uint64(), 0; i < 10 && b.Len() < c.fieldSize; i++ {
			b.WriteByte(letters[x&63])
			x >>= 6
		}
	}
	return b.String()
}

// command makes a command on the collection.
func (c *commands) command(name string, rest ...bson.E) bson.Raw {
	d := append(bson.D{{name, c.coll}}, rest...)
	if c.charged {
		d = append(d, bson.E{"comment", bson.D{{"requestCharge", true}}})
	}
	return d.Doc()
}

// one returns the filter of the document with a number.
func (c *commands) one(n int64) bson.D {
	if c.model.values == 0 {
		return bson.D{{"_id", c.id(n)}}
	}
	return bson.D{{"_id", c.id(n)}, {c.model.shardKey, c.key(n)}}
}

// insert makes an insert of documents; it continues after an error.
func (c *commands) insert(docs ...bson.Raw) bson.Raw {
	return c.command("insert", bson.E{"documents", bson.Docs(docs)}, bson.E{"ordered", false})
}

// of returns the commands of an operation on the document with a number.
func (c *commands) of(op string, n int64, r *rand.Rand) []bson.Raw {
	read := func() bson.Raw {
		return c.command("find", bson.E{"filter", c.one(n)}, bson.E{"limit", 1}, bson.E{"singleBatch", true})
	}
	update := func() bson.Raw {
		set := bson.D{{"$set", bson.D{{fmt.Sprintf("field%d", r.IntN(c.fields)), c.text(r)}}}}
		return c.command("update", bson.E{"updates", bson.A{bson.D{{"q", c.one(n)}, {"u", set}}}})
	}
	switch op {
	case opUpdate:
		return []bson.Raw{update()}
	case opModify:
		return []bson.Raw{read(), update()}
	case opInsert:
		return []bson.Raw{c.insert(c.document(n, r))}
	case opScan:
		length := r.IntN(scanMax) + 1
		return []bson.Raw{c.command("find", bson.E{"filter", bson.D{{"_id", bson.D{{"$gte", c.id(n)}}}}}, bson.E{"sort", bson.D{{"_id", 1}}},
			bson.E{"limit", length}, bson.E{"batchSize", length}, bson.E{"singleBatch", true})}
	case opQuery:
		return []bson.Raw{c.command("find", bson.E{"filter", bson.D{{c.model.shardKey, c.key(n)}}},
			bson.E{"sort", bson.D{{c.model.shardKey, 1}, {"at", -1}}}, // an account of Azure Cosmos DB sorts by whole indexes only
			bson.E{"limit", queryLimit}, bson.E{"singleBatch", true})}
	}
	return []bson.Raw{read()}
}
