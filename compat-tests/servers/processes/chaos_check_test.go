package processes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// agree compares the servers after all faults have ended: each must have the same collections, every index but
// _id and hashed ones must find what a scan finds, and validate and checkMetadataConsistency must find nothing wrong.
func (c *chaos) agree() {
	first := ""
	for i := range c.addresses {
		db := c.direct(i)
		var said string
		c.retry(fmt.Sprintf("what server %d has", i), func(ctx context.Context) (err error) {
			said, err = c.contents(ctx, db)
			return err
		})
		if i == 0 {
			first = said
		} else if said != first {
			c.Errorf("the servers do not agree: server %d has\n%s\nand the first one\n%s", i, said, first)
		}
	}
}

// contents returns, as text for comparison, the collections of a server with their numbers of documents and indexes.
// It fails the test if an index, a count, validate or checkMetadataConsistency shows a difference.
func (c *chaos) contents(ctx context.Context, db *mongo.Database) (string, error) {
	names, err := db.ListCollectionNames(ctx, bson.M{})
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	var out strings.Builder
	for _, name := range names {
		coll := db.Collection(name)
		scan, err := found(ctx, coll, bson.M{"$natural": 1})
		if err != nil {
			return "", err
		}
		n, err := coll.CountDocuments(ctx, bson.M{})
		if err != nil {
			return "", err
		}
		if int(n) != len(scan) {
			c.Errorf("%s has %d documents by a count and %d by a scan", name, n, len(scan))
		}
		specs, err := coll.Indexes().ListSpecifications(ctx)
		if err != nil {
			return "", err
		}
		var indexes []string
		for _, spec := range specs {
			indexes = append(indexes, spec.Name)
			if spec.Name == "_id_" || strings.Contains(spec.Name, "hashed") {
				continue
			}
			by, err := found(ctx, coll, spec.Name)
			if err != nil {
				return "", err
			}
			if !slices.Equal(by, scan) {
				c.Errorf("%s has %d documents by the index %s and %d by a scan", name, len(by), spec.Name, len(scan))
			}
		}
		slices.Sort(indexes)
		raw, err := db.RunCommand(ctx, bson.D{{Key: "validate", Value: name}}).Raw()
		if err != nil {
			return "", err
		}
		if valid, _ := raw.Lookup("valid").BooleanOK(); !valid {
			c.Errorf("validate of %s: %s", name, raw)
		}
		fmt.Fprintf(&out, "%s: %d documents, %v\n", name, len(scan), indexes)
	}
	raw, err := db.RunCommand(ctx, bson.D{{Key: "checkMetadataConsistency", Value: 1}}).Raw()
	if err != nil {
		return "", err
	}
	if list, _ := raw.Lookup("cursor", "firstBatch").ArrayOK(); len(list) > 5 {
		c.Errorf("checkMetadataConsistency: %s", raw)
	}
	return out.String(), nil
}

// found returns the ids of all documents by a hint, in order.
func found(ctx context.Context, coll *mongo.Collection, hint any) (ids []string, err error) {
	cursor, err := coll.Find(ctx, bson.M{}, options.Find().SetHint(hint).SetProjection(bson.M{"_id": 1}))
	if err != nil {
		return nil, err
	}
	var docs []bson.Raw
	if err := cursor.All(ctx, &docs); err != nil {
		return nil, err
	}
	for _, d := range docs {
		ids = append(ids, d.Lookup("_id").String())
	}
	slices.Sort(ids)
	return ids, nil
}

// check checks that all acknowledged documents are there, at each server, and that the stream had an event
// for each document.
func (l *inserts) check() (docs, events int) {
	there := map[string]bool{}
	for i := range l.addresses {
		var ids []string
		coll := l.direct(i).Collection("log")
		l.retry("the documents in the end", func(ctx context.Context) (err error) {
			ids, err = found(ctx, coll, bson.M{"$natural": 1})
			return err
		})
		there = map[string]bool{}
		for _, id := range ids {
			there[strings.Trim(id, `"`)] = true
		}
		var lost []string
		for id, acknowledged := range l.sent {
			if acknowledged && !there[id] {
				lost = append(lost, id)
			}
		}
		slices.Sort(lost)
		if len(lost) > 0 {
			l.Errorf("server %d does not have %d acknowledged documents: %v", i, len(lost), lost[:min(len(lost), 10)])
		}
	}
	for id := range there {
		if _, ok := l.sent[id]; !ok {
			l.Errorf("%q is there, and nobody has inserted it", id)
		}
	}
	before := -1
	l.retry("the rest of the change stream", func(ctx context.Context) error {
		for l.total > before {
			before = l.total
			if err := l.take(ctx, 1<<20); err != nil {
				before = -1
				return err
			}
		}
		return nil
	})
	missing := 0
	for id := range there {
		if l.seen[id] == 0 {
			missing++
		}
	}
	if missing > 0 {
		l.Errorf("the change stream lacks %d of %d documents", missing, len(there))
	}
	for id := range l.seen {
		if !there[id] {
			l.Errorf("the change stream has %s, which is not there", id)
		}
	}
	for _, acknowledged := range l.sent {
		if acknowledged {
			docs++
		}
	}
	l.Logf("%d documents there, %d acknowledged, %d events", len(there), docs, l.total)
	return docs, l.total
}
