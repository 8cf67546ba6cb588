package data

import (
	"crypto/md5"
	"encoding/hex"
	"hash"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/wire/command"
)

// runDBHash computes an MD5 checksum of each collection's documents in the order of _id, so that equal data has equal
// checksums, however it is distributed over shards. That of system.views covers the names and UUIDs of the views.
// Unknown arguments are ignored. Manual: reference/command/dbHash.
func runDBHash(c *command.Call) error {
	only, err := hashed(c)
	if err != nil {
		return err
	}
	snap := c.Cluster.Catalog()
	var colls []*catalog.Collection
	var views []*catalog.Collection
	for _, coll := range snap.Collections(c.DB) {
		switch {
		case coll.IsView():
			views = append(views, coll)
		case only == nil || only[coll.Namespace.Coll]:
			colls = append(colls, coll)
		}
	}
	slices.SortFunc(colls, func(a, b *catalog.Collection) int { return strings.Compare(a.Namespace.Coll, b.Namespace.Coll) })

	type hashed struct {
		name, sum string
		uuid      [16]byte
	}
	var list []hashed
	total := md5.New()
	for _, coll := range colls {
		h := md5.New()
		if err := hashDocs(c, h, coll.Namespace); err != nil {
			return err
		}
		sum := hex.EncodeToString(h.Sum(nil))
		total.Write([]byte(coll.Namespace.Coll + sum))
		list = append(list, hashed{coll.Namespace.Coll, sum, coll.UUID})
	}
	if len(views) > 0 && (only == nil || only["system.views"]) {
		h := md5.New()
		for _, v := range views {
			h.Write([]byte(v.Namespace.Coll))
			h.Write(v.UUID[:])
		}
		sum := hex.EncodeToString(h.Sum(nil))
		total.Write([]byte(sum))
		list = append(list, hashed{"system.views", sum, [16]byte(h.Sum(nil))})
	}

	b := c.Reply
	b.String("host", c.Server.Address())
	b.BeginDoc("collections")
	for _, x := range list {
		b.String(x.name, x.sum)
	}
	b.End()
	b.BeginArray("capped")
	for _, coll := range colls {
		if coll.Options.Capped {
			b.String("", coll.Namespace.Coll)
		}
	}
	b.End()
	b.BeginDoc("uuids")
	for _, x := range list {
		b.Binary(x.name, 4, x.uuid[:])
	}
	b.End()
	b.String("md5", hex.EncodeToString(total.Sum(nil)))
	b.Int32("timeMillis", int32(c.Cluster.Now().Sub(c.Start).Milliseconds()))
	return nil
}

// hashed reads the argument collections of dbHash: the names of the collections to hash, nil for all. An empty array,
// or an argument of another type, is ignored.
// Errors: BadValue (2).
func hashed(c *command.Call) (map[string]bool, error) {
	list, ok := c.Body.Get("collections").Array()
	if !ok || list.IsEmpty() {
		return nil, nil
	}
	names := map[string]bool{}
	for v := range list.Values() {
		s, ok := v.Str()
		if !ok {
			return nil, mongoerr.New(mongoerr.BadValue, "collections entries have to be strings")
		}
		names[s] = true
	}
	return names, nil
}

// hashDocs writes a collection's documents to h.
func hashDocs(c *command.Call, h hash.Hash, ns collection.Namespace) error {
	by := bson.NewBuilder(nil)
	by.Int32("_id", 1)
	s, err := c.Cluster.Find(&c.Op, ns, plan.Find{Sort: by.Doc()})
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		row, err := s.Next(c.Env())
		if err != nil || row == nil {
			return err
		}
		h.Write(row.Doc)
	}
}
