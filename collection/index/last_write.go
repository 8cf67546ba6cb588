package index

import (
	"github.com/cantledb/cantle/bson"
)

// LastWriteOption is the option of an index {_ts: 1} by which documents expire
// after their last write; the Cosmos address sets it by itself. It is ours.
const LastWriteOption = "expireAfterLastWrite"

// lastWritePath is the time of the last write, which is no field of documents.
const lastWritePath = "_ts"

// WithLastWrite returns the specification as Azure Cosmos DB means it: a TTL
// index {_ts: 1} counts from the last write. Others are returned as they are.
// Source: Azure Cosmos DB for MongoDB, "time-to-live".
func WithLastWrite(spec bson.Raw) bson.Raw {
	key, ok := spec.Get("key").Doc()
	if !ok || !isLastWriteKey(key) || spec.Get("expireAfterSeconds").IsMissing() || !spec.Get(LastWriteOption).IsMissing() {
		return spec
	}
	b := bson.NewBuilder(nil)
	b.Splice(spec.Elements())
	b.Bool(LastWriteOption, true)
	return b.Doc()
}

// isLastWriteKey reports the key pattern {_ts: 1}.
func isLastWriteKey(key bson.Raw) bool {
	fields := 0
	for it := key.Iter(); it.Next(); fields++ {
		if n, ok := it.Value.AsFloat(); !ok || n != 1 || string(it.Name) != lastWritePath {
			return false
		}
	}
	return fields == 1
}

// checkLastWrite refuses what an index by the last write cannot be.
func (p *parser) checkLastWrite() error {
	s := p.s
	switch {
	case !s.LastWrite:
	case !isLastWriteKey(s.Key) || !s.HasTTL:
		return cannot("'%s' needs the key {%s: 1} and expireAfterSeconds. Index spec: %s", LastWriteOption, lastWritePath, p.raw)
	case s.Unique || s.PrepareUnique || s.Sparse || s.PartialFilter != nil:
		return cannot("An index with '%s' cannot be unique, sparse or partial. Index spec: %s", LastWriteOption, p.raw)
	}
	return nil
}
