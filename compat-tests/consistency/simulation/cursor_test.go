package simulation

import (
	"cmp"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/consistency/histories"
)

// browse is a cursor of a transaction that writes between the cursor's batches. The version of a document is the
// number of its changes.
type browse struct {
	histories.Cursor
	coll string
	hint bson.D
	id   int64
}

// inside sends a command within the transaction.
type inside func(cmd bson.D) (reply, error)

// newBrowse draws a browse.
func (c *client) newBrowse(coll string) *browse {
	b := &browse{coll: coll, hint: bson.D{{Key: []string{"$natural", "n", "n"}[c.rng.IntN(3)], Value: 1}}}
	b.Opened = map[int]int{}
	if b.hint[0].Key == "n" {
		b.Order = func(x, y histories.Row) int { return cmp.Compare(x.Version, y.Version) }
	}
	return b
}

// rows returns the documents of a reply.
func (b *browse) rows(r reply) (out []histories.Row) {
	for _, raw := range r.rows() {
		out = append(out, histories.Row{Key: int(raw.Lookup("_id").AsInt64()), Version: int(raw.Lookup("n").AsInt64())})
	}
	return out
}

// open reads all documents in the transaction at once, as the expected result, and then opens the cursor, which has
// to return the same.
func (b *browse) open(c *client, in inside) (reply, error) {
	find := bson.D{{Key: "find", Value: b.coll}, {Key: "hint", Value: b.hint}}
	if b.Order != nil {
		find = append(find, bson.E{Key: "sort", Value: b.hint})
	}
	r, err := in(append(slices.Clone(find), bson.E{Key: "batchSize", Value: 1000}))
	if err != nil || r.code() != 0 {
		return r, err
	}
	for _, row := range b.rows(r) {
		b.Opened[row.Key] = row.Version
	}
	if r, err = in(append(slices.Clone(find), bson.E{Key: "batchSize", Value: c.rng.IntN(5)})); err == nil && r.code() == 0 {
		b.take(r)
	}
	return r, err
}

// take takes a batch.
func (b *browse) take(r reply) {
	b.Rows = append(b.Rows, b.rows(r)...)
	b.id, _ = r.at("cursor", "id").AsInt64OK()
	b.Ended = b.id == 0
}

// more reads up to most batches.
func (b *browse) more(c *client, in inside, most int) (r reply, err error) {
	for ; most > 0 && !b.Ended; most-- {
		r, err = in(bson.D{{Key: "getMore", Value: b.id}, {Key: "collection", Value: b.coll}, {Key: "batchSize", Value: 1 + c.rng.IntN(4)}})
		if err != nil || r.code() != 0 {
			return r, err
		}
		b.take(r)
		time.Sleep(time.Duration(c.rng.IntN(10)) * time.Millisecond)
	}
	return r, nil
}

// wrote records that the transaction has changed a document.
func (b *browse) wrote(p place) {
	if p.coll == b.coll {
		key := int(p.id)
		b.Own = append(b.Own, histories.Row{Key: key, Version: b.Opened[key] + 1}, histories.Row{Key: key, Version: b.Opened[key] + 2})
	}
}

// end reads the rest and checks all rows.
func (b *browse) end(c *client, in inside) (reply, error) {
	r, err := b.more(c, in, 100)
	for _, text := range b.Judge() {
		c.w.bad("a cursor of a transaction over %s by %v: %s", b.coll, b.hint, text)
	}
	if len(b.Opened) != countersDocs {
		c.w.bad("a transaction finds %d documents of %s", len(b.Opened), b.coll)
	}
	c.w.count(&c.w.counts.browsed)
	return r, err
}
