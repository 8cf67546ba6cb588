package verify

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Part is a part of a range of keys that is described for operators: documents of a collection, an index, or
// internal data.
type Part struct {
	What      string // documents, index, insertion order, catalog or change log
	Namespace string // of documents, indexes and insertion orders
	Index     string
	// From and To are the _ids (under a ranged shard key: its values and the _id) between which the documents are;
	// "" is the first or the last one.
	From, To string
	// Hashed is set if the documents are in the order of a hash, so that From and To do not determine the _ids in
	// between.
	Hashed bool
}

// Parts returns the contents of a range of keys, such as that of a damaged file. snap is the catalog; if it is nil,
// of the collections only those at the bounds of r are returned, by number.
func Parts(r storage.Range, snap *catalog.Snapshot) (parts []Part) {
	if overlap(r, storage.Range{End: []byte{1}}) {
		parts = append(parts, Part{What: "change log"})
	}
	for _, kind := range []keyspace.MetaKind{keyspace.MetaCollection, keyspace.MetaDatabase, keyspace.MetaJob, keyspace.MetaCounter,
		keyspace.MetaRole, keyspace.MetaSetting, keyspace.MetaTransaction, keyspace.MetaUser, keyspace.MetaVersion} {
		if overlap(r, keyspace.MetaRange(kind)) {
			parts = append(parts, Part{What: "catalog"})
			break
		}
	}
	if snap == nil {
		return append(parts, unnamed(r)...)
	}
	for _, coll := range snap.Collections("") {
		if coll.IsView() {
			continue
		}
		if all := keyspace.RecordRange(coll.ID); overlap(r, all) {
			p := Part{What: "documents", Namespace: coll.Namespace.String(), Hashed: coll.Sharded() && coll.Key.Kind() != shard.Ranged}
			if bytes.Compare(r.Start, all.Start) > 0 {
				p.From = idText(coll, r.Start)
			}
			if r.End != nil && bytes.Compare(r.End, all.End) < 0 {
				p.To = idText(coll, r.End)
			}
			parts = append(parts, p)
		}
		for _, ix := range coll.Indexes {
			if overlap(r, keyspace.IndexRange(coll.ID, ix.ID)) && (ix.ID != coll.IDIndex().ID || coll.PhysicalID()) {
				parts = append(parts, Part{What: "index", Namespace: coll.Namespace.String(), Index: ix.Name})
			}
		}
		if coll.KeepsInsertionOrder() && overlap(r, keyspace.InsertionRange(coll.ID)) {
			parts = append(parts, Part{What: "insertion order", Namespace: coll.Namespace.String()})
		}
	}
	return parts
}

// unnamed returns the contents of a range of keys as far as its bounds show them, without a catalog: the numbers of
// collections.
func unnamed(r storage.Range) (parts []Part) {
	for _, key := range [][]byte{r.Start, r.End} {
		if id, ok := keyspace.CollectionOf(key); ok {
			parts = append(parts, Part{What: "documents", Namespace: fmt.Sprintf("collection number %d", id)})
		}
	}
	return parts
}

// overlap reports whether two ranges have keys in common. A range without an end extends to the last key.
func overlap(a, b storage.Range) bool {
	return (a.End == nil || bytes.Compare(b.Start, a.End) < 0) && (b.End == nil || bytes.Compare(a.Start, b.End) < 0)
}

// idText prints the _id in a key, which may be truncated.
func idText(coll *catalog.Collection, key []byte) string {
	_, _, id, ok := keyspace.SplitRecord(key)
	if !ok {
		return ""
	}
	b := bson.NewArrayBuilder(nil)
	dirs := slices.Repeat([]keystring.Dir{keystring.Ascending}, coll.IDParts())
	if _, err := keystring.Decode(b, id, dirs, nil); err != nil {
		return "0x" + fmt.Sprintf("%x", id)
	}
	var out []string
	list := b.Doc()
	for it := list.Iter(); it.Next(); {
		out = append(out, ejson.ValueString(it.Value))
	}
	return strings.Join(out, ", ")
}

// Sentence explains the consequences of a damage in one sentence.
func Sentence(d storage.Damage, snap *catalog.Snapshot) string {
	text := d.Error()
	if d.Kind == storage.DamagedLog {
		return text + "; it has the most recent writes to all collections"
	}
	if d.Kind == storage.DamagedManifest {
		return text + "; without it the files with the newest data cannot be identified"
	}
	if d.Entries == 0 && d.Keys.End != nil {
		return text + "; no data is lost"
	}
	var list []string
	documents := false
	for _, p := range Parts(d.Keys, snap) {
		list = append(list, p.String())
		documents = documents || p.What == "documents"
	}
	if len(list) == 0 {
		return text + "; it had no data that is in use"
	}
	const most = 6
	if n := len(list) - most; n > 0 {
		list = append(list[:most], fmt.Sprintf("%d more", n))
	}
	switch {
	case !documents:
		text += "; no documents are lost, but "
	case d.Entries == 1:
		text += "; at most 1 document is lost: "
	case d.Entries >= 0:
		text += fmt.Sprintf("; at most %d documents are lost: ", d.Entries)
	default:
		text += "; an unknown number of these may be lost: "
	}
	return text + strings.Join(list, "; ")
}

// String prints the part for people.
func (p Part) String() string {
	switch p.What {
	case "change log":
		return "entries of the change log"
	case "catalog":
		return "entries of the catalog (collections, users, settings)"
	case "insertion order":
		return "the insertion order of " + p.Namespace
	case "index":
		return "entries of the index " + p.Index + " of " + p.Namespace
	}
	of := "documents of " + p.Namespace
	if p.Hashed && p.From+p.To != "" {
		of += ", in the order of their hashed shard key,"
	}
	switch {
	case p.From == "" && p.To == "":
		return of
	case p.From == p.To:
		return of + " with _id " + p.To
	case p.From == "":
		return of + " up to _id " + p.To
	case p.To == "":
		return of + " from _id " + p.From + " on"
	}
	return of + " from _id " + p.From + " to " + p.To
}
