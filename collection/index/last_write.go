package index

import (
	"math"

	"github.com/cantledb/cantle/bson"
)

// LastWriteOption is an option of a TTL index {_ts: 1}: documents expire a time after their last write, or by their
// own ttl. The Cosmos address sets it implicitly. MongoDB does not have this option and would reject it, so
// listIndexes omits it.
const LastWriteOption = "expireAfterLastWrite"

// lastWritePath is the name of the field in the key of a TTL index by the last write. It means the time of that
// write, which is not a field of documents.
const lastWritePath = "_ts"

// WithLastWrite returns an index specification with its meaning in Azure Cosmos DB: a TTL index {_ts: 1} gets
// LastWriteOption, as it counts from the last write. Other specifications are returned unchanged.
// Source: Azure Cosmos DB for MongoDB, "time-to-live".
func WithLastWrite(spec bson.Raw) bson.Raw {
	if !ExpiresByTS(spec) || spec.Has(LastWriteOption) {
		return spec
	}
	b := bson.NewBuilder(nil)
	b.Splice(spec.Elements())
	b.Bool(LastWriteOption, true)
	return b.Doc()
}

// ExpiresByTS reports whether an index specification is a TTL index {_ts: 1}, which counts from the last write in
// Azure Cosmos DB, and from the field _ts in MongoDB.
func ExpiresByTS(spec bson.Raw) bool {
	key, ok := spec.Get("key").Doc()
	return ok && isLastWriteKey(key) && spec.Has("expireAfterSeconds")
}

// Listed returns the specification as listIndexes shows it: without LastWriteOption. If only the documents' own ttl
// counts (ExpireAfterSeconds is -1), expireAfterSeconds becomes a number that MongoDB accepts, so that a dump can be
// restored into MongoDB.
func (s *Spec) Listed() bson.Raw {
	if !s.LastWrite {
		return s.print
	}
	b := bson.NewBuilder(nil)
	for name, v := range s.print.Fields() {
		switch {
		case string(name) == LastWriteOption:
		case string(name) == "expireAfterSeconds" && s.ExpireAfterSeconds < 0:
			b.Int("expireAfterSeconds", lastWriteNever)
		default:
			b.ValueBytes(name, v)
		}
	}
	return b.Doc()
}

// lastWriteNever is the longest expireAfterSeconds that MongoDB accepts: 68 years. It stands for never.
const lastWriteNever = math.MaxInt32

// Account returns the specification as an account of Azure Cosmos DB lists it: with version 1 for all kinds, with the
// namespace, without LastWriteOption, and for _id without unique. Observed:
// Azure-Samples/cosmos-db-mongodb-api-javascript-samples, "225-get-collection-indexes".
func (s *Spec) Account(ns string) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int32("v", 1)
	b.Raw("key", s.Key)
	b.String("name", s.Name)
	b.String("ns", ns)
	for name, v := range s.print.Fields() {
		switch string(name) {
		case "v", "key", "name", LastWriteOption:
		case "unique":
			if !s.IsID() {
				b.ValueBytes(name, v)
			}
		default:
			b.ValueBytes(name, v)
		}
	}
	return b.Doc()
}

// ends returns ExpireAfterSeconds for comparisons of indexes: in an index by the last write, the longest time means
// never, like -1.
func (s *Spec) ends() int64 {
	if s.LastWrite && s.ExpireAfterSeconds == lastWriteNever {
		return -1
	}
	return s.ExpireAfterSeconds
}

// isLastWriteKey reports whether the key pattern is {_ts: 1}.
func isLastWriteKey(key bson.Raw) bool {
	fields := 0
	for it := key.Iter(); it.Next(); fields++ {
		if n, ok := it.Value.AsFloat(); !ok || n != 1 || string(it.Name) != lastWritePath {
			return false
		}
	}
	return fields == 1
}

// checkLastWrite returns an error if a TTL index by the last write has another key than {_ts: 1}, no
// expireAfterSeconds, or is unique, prepareUnique, sparse or partial.
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
