package agg

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

// Limits of a time-series bucket that Pack makes, and of all buckets that are open at one time. Observed:
// mongod 7.0, whose buckets have at most 1000 measurements and about 125 KiB.
const (
	bucketRowsMax      = 1000
	bucketBytesMax     = 125 << 10
	openBucketsMax     = 1000
	openBucketBytesMax = 32 << 20
)

// Buckets holds the parameters by which a time-series collection is divided into buckets.
type Buckets struct {
	TimeField, MetaField string // MetaField "" for none
	// SpanMillis is the longest time in a bucket, in milliseconds. The beginning of a bucket is a multiple of
	// RoundMillis.
	SpanMillis, RoundMillis int64
}

// Pack returns a pipeline that makes buckets, in the format of MongoDB's system.buckets.NAME, from the
// measurements of a time-series collection. mongodump reads these buckets. Source: the pages of the
// manual on time-series collections; dumps of mongodump 100.
func Pack(ns collection.Namespace, b Buckets) *Pipeline {
	return &Pipeline{NS: ns, stages: []Stage{&packStage{b}}}
}

// packStage is the stage of Pack: it collects measurements with the same meta value into buckets.
type packStage struct{ Buckets }

func (s *packStage) Name() string             { return "$_packBuckets" }
func (s *packStage) Constraints() Constraints { return Constraints{} }
func (s *packStage) Split() Split             { return merged(s) }

func (s *packStage) Append(b *bson.Builder) {
	b.BeginDoc(s.Name())
	b.String("timeField", s.TimeField)
	if s.MetaField != "" {
		b.String("metaField", s.MetaField)
	}
	b.End()
}

func (s *packStage) Reads(add func(string)) bool {
	add("")
	return true
}

func (s *packStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &packOp{base: base{in: in, stage: s}, packStage: s, open: map[string]*bucket{}}, nil
}

// packOp is the operator of packStage: it holds the open buckets by meta value, and the full buckets that are
// not delivered yet.
type packOp struct {
	base
	maker
	*packStage
	open  map[string]*bucket
	bytes int
	full  []*bucket
	n     uint64 // number of buckets made, for their _id
	ended bool
}

// bucket is an open bucket.
type bucket struct {
	start int64 // earliest possible time of a measurement
	rows  []bson.Raw
	bytes int
}

func (o *packOp) Next(env *mql.Env) (*exec.Row, error) {
	for len(o.full) == 0 && !o.ended {
		if err := env.Tick(); err != nil {
			return nil, err
		}
		r, err := o.in.Next(env)
		if err != nil {
			return nil, err
		}
		if r == nil {
			o.ended = true
			o.closeAll()
			break
		}
		o.add(r.Doc)
	}
	if len(o.full) == 0 {
		return nil, nil
	}
	b := o.full[0]
	o.full = o.full[1:]
	o.returned++
	o.write(o.begin(), b)
	return o.end(env, nil)
}

func (o *packOp) Park() (int, bool) {
	bytes, done := o.in.Park()
	for _, b := range o.full {
		bytes += b.bytes
	}
	return bytes + o.bytes, done
}

func (o *packOp) Close() {
	o.base.Close()
	o.scratch.Close()
}

// add adds a measurement to the bucket of its meta value.
func (o *packOp) add(doc bson.Raw) {
	ms, _ := doc.Get(o.TimeField).DateTime()
	meta := ""
	if v := doc.Get(o.MetaField); o.MetaField != "" && !v.IsMissing() {
		meta = string(rune(v.Type)) + string(v.Data)
	}
	b := o.open[meta]
	if b != nil && (len(b.rows) == bucketRowsMax || b.bytes+len(doc) > bucketBytesMax || ms < b.start || ms >= b.start+o.SpanMillis) {
		o.close(meta)
		b = nil
	}
	if b == nil {
		if len(o.open) == openBucketsMax || o.bytes > openBucketBytesMax {
			o.closeAll()
		}
		b = &bucket{start: ms - ((ms%o.RoundMillis)+o.RoundMillis)%o.RoundMillis}
		o.open[meta] = b
	}
	b.rows = append(b.rows, doc.Clone())
	b.bytes += len(doc)
	o.bytes += len(doc)
}

func (o *packOp) close(meta string) {
	b := o.open[meta]
	delete(o.open, meta)
	o.bytes -= b.bytes
	o.full = append(o.full, b)
}

func (o *packOp) closeAll() {
	for _, meta := range slices.Sorted(maps.Keys(o.open)) {
		o.close(meta)
	}
}

// write builds the document of a bucket, for all fields but the meta field: under control their extremes (the least
// time is the bucket's start), under data a column for each, in which the name of a value is the position of its
// measurement.
func (o *packOp) write(b *bson.Builder, from *bucket) {
	var low, high bson.Raw = bson.Empty, bson.Empty
	var names []string
	columns := map[string]*bson.Builder{}
	for i, doc := range from.rows {
		at := strconv.Itoa(i)
		rest := bson.NewBuilder(nil)
		for name, v := range doc.Fields() {
			if string(name) == o.MetaField {
				continue
			}
			c := columns[string(name)]
			if c == nil {
				c = bson.NewBuilder(nil)
				columns[string(name)] = c
				names = append(names, string(name))
			}
			c.Value(at, v)
			rest.ValueBytes(name, v)
		}
		fields := rest.Doc()
		low, high = extreme(low, fields, -1), extreme(high, fields, 1)
	}
	var id [12]byte
	binary.BigEndian.PutUint32(id[:], uint32(from.start/1000))
	o.n++
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte(nil), from.rows[0]...), o.n))
	copy(id[4:], sum[:])
	b.ObjectID("_id", id)
	b.BeginDoc("control")
	b.Int32("version", 1)
	b.BeginDoc("min")
	for name, v := range low.Fields() {
		if string(name) == o.TimeField {
			b.DateTime(o.TimeField, from.start)
			continue
		}
		b.ValueBytes(name, v)
	}
	b.End()
	b.Raw("max", high)
	b.End()
	if o.MetaField != "" {
		if v := from.rows[0].Get(o.MetaField); !v.IsMissing() {
			b.Value("meta", v)
		}
	}
	b.BeginDoc("data")
	for _, name := range names {
		b.Raw(name, columns[name].Doc())
	}
	b.End()
}

// extreme returns the document that has at every path the smaller (sign -1) or larger value of two documents,
// for a bucket's control.
func extreme(have, with bson.Raw, sign int) bson.Raw {
	b := bson.NewBuilder(nil)
	for name, v := range have.Fields() {
		b.ValueBytes(name, extremeValue(v, with.Get(string(name)), sign))
	}
	for name, v := range with.Fields() {
		if have.Get(string(name)).IsMissing() {
			b.ValueBytes(name, v)
		}
	}
	return b.Doc()
}

func extremeValue(v, w bson.Value, sign int) bson.Value {
	if w.IsMissing() {
		return v
	}
	d, isDoc := v.Doc()
	e, both := w.Doc()
	if isDoc && both {
		return extreme(d, e, sign).Value()
	}
	if bson.Compare(w, v, nil)*sign > 0 {
		return w
	}
	return v
}

func (o *packOp) Explain(b *bson.Builder, stats bool) { o.base.Explain(b, stats) }
