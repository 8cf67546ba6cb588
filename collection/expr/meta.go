package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// MetaKind is a kind of metadata of a document.
type MetaKind uint8

// The kinds of metadata.
// Manual: reference/operator/aggregation/meta.
const (
	MetaTextScore MetaKind = iota
	MetaRandVal
	MetaSearchScore
	MetaSearchHighlights
	MetaSearchScoreDetails
	MetaSearchSequenceToken
	MetaGeoNearDistance
	MetaGeoNearPoint
	MetaRecordID
	MetaIndexKey
	MetaSortKey
	MetaVectorSearchScore
	MetaTimeseriesMin
	MetaTimeseriesMax
	MetaScore
	MetaScoreDetails
	MetaStream
	metaKinds
)

var metaNames = [metaKinds]string{"textScore", "randVal", "searchScore", "searchHighlights", "searchScoreDetails", "searchSequenceToken",
	"geoNearDistance", "geoNearPoint", "recordId", "indexKey", "sortKey", "vectorSearchScore", "timeseriesBucketMinTime",
	"timeseriesBucketMaxTime", "score", "scoreDetails", "stream"}

// String returns the name in {$meta: "name"}.
func (k MetaKind) String() string { return metaNames[k] }

// meta is $meta.
type meta struct{ kind MetaKind }

func parseMeta(p *parser, _ *Operator, v bson.Value) (Expr, error) {
	text, ok := v.Str()
	if !ok || v.Type != bson.TypeString {
		return nil, mongoerr.New(17307, "$meta only supports string arguments")
	}
	kind, ok := ParseMetaKind(text)
	if !ok {
		return nil, mongoerr.New(17308, "Unsupported argument to $meta: %s", text)
	}
	p.env.NoteMeta(text)
	return &meta{kind}, nil
}

// ParseMetaKind returns a kind by its name.
func ParseMetaKind(name string) (MetaKind, bool) {
	for k, n := range metaNames {
		if n == name {
			return MetaKind(k), true
		}
	}
	return 0, false
}

func (m *meta) Eval(_ *mql.Env, _ bson.Raw, s *Scratch) (bson.Value, error) {
	return s.Meta[m.kind], nil
}

func (m *meta) Paths(func(string)) {}

func (m *meta) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.String("$meta", m.kind.String())
	b.End()
}

// NeedsMeta calls add for each kind of metadata that e reads.
func NeedsMeta(e Expr, add func(MetaKind)) {
	Walk(e, func(e Expr) {
		if m, ok := e.(*meta); ok {
			add(m.kind)
		}
	})
}
