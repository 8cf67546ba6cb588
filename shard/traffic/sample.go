package traffic

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
)

// Sample holds the statements recorded for a collection in some period, by one server or by several.
type Sample struct {
	Prices *ratelimit.PriceList // the price list by which the statements were charged; nil is ratelimit.Normative

	numbers map[string]uint16 // of paths
	paths   []string
	minutes []sampled // in their order
}

// sampled is the sample of one minute.
type sampled struct {
	at, count int64 // the second at which it begins, and the number of all statements
	list      []weighed
}

// weighed is a statement of a sample with the cost that it represents: its own, or more if others of its minute were
// left out.
type weighed struct {
	*sample
	ru    float64
	texts map[value]string
}

// Sample returns the sample of a collection in the minutes that overlap [from, to), in seconds since 1970.
func (r *Recorder) Sample(ns collection.Namespace, from, to int64) *Sample {
	r.mu.Lock()
	kept := slices.DeleteFunc(slices.Clone(r.minutes[:]), func(m *minute) bool { return m == nil || m.at*60+60 <= from || m.at*60 >= to })
	r.mu.Unlock()
	slices.SortFunc(kept, func(a, b *minute) int { return cmp.Compare(a.at, b.at) })
	s := &Sample{}
	s.numbers, s.paths = r.paths.all()
	for _, m := range kept {
		b := (*m.bins.Load())[ns]
		if b == nil {
			continue
		}
		b.mu.Lock()
		list := slices.Clone(b.list)
		out := sampled{at: m.at * 60, count: b.count.Load()}
		over := b.truncated
		texts := make(map[value]string, len(b.texts))
		for k, v := range b.texts {
			texts[k] = v
		}
		b.mu.Unlock()
		least := 0.0
		if over && len(list) > 1 { // the lowest priority is the minimum weight of the others
			least, list = list[0].priority, list[1:]
		}
		for i := range list {
			out.list = append(out.list, weighed{&list[i], max(list[i].ru, least), texts})
		}
		s.minutes = append(s.minutes, out)
	}
	return s
}

// number returns the number by which the sample refers to the path of a field, assigning one if needed; false if
// there are too many.
func (s *Sample) number(path string) (uint16, bool) {
	n, ok := s.numbers[path]
	if !ok && len(s.paths) <= math.MaxUint16 {
		if s.numbers == nil {
			s.numbers = map[string]uint16{}
		}
		n, ok = uint16(len(s.paths)), true
		s.numbers[path] = n
		s.paths = append(s.paths, path)
	}
	return n, ok
}

// take adds the sample of one minute from a peer, which has given other numbers to paths; text returns the path of
// such a number. Samples of several servers for the same minute are merged.
func (s *Sample) take(m sampled, text func(uint16) string) {
	at := map[uint16]uint16{}
	renumbered := func(v value) (value, bool) {
		n, ok := at[v.path]
		if !ok {
			if n, ok = s.number(text(v.path)); !ok {
				return v, false
			}
			at[v.path] = n
		}
		return value{n, v.hash}, true
	}
	var texts map[value]string
	for i, x := range m.list {
		if i == 0 { // all statements of a minute share one map
			texts = make(map[value]string, len(x.texts))
			for v, text := range x.texts {
				if v, ok := renumbered(v); ok {
					texts[v] = text
				}
			}
		}
		one := *x.sample
		one.values = make([]value, 0, len(x.values))
		for _, v := range x.values {
			if v, ok := renumbered(v); ok {
				one.values = append(one.values, v)
			} else {
				one.kind |= isCut
			}
		}
		m.list[i] = weighed{&one, x.ru, texts}
	}
	i := len(s.minutes)
	for i > 0 && s.minutes[i-1].at >= m.at {
		i--
	}
	if i == len(s.minutes) || s.minutes[i].at > m.at {
		s.minutes = append(s.minutes, m)
		copy(s.minutes[i+1:], s.minutes[i:])
		s.minutes[i] = m
		return
	}
	s.minutes[i].count += m.count
	s.minutes[i].list = append(s.minutes[i].list, m.list...)
}

// Encode encodes a sample for a peer. It is not a method, and neither is Add, so that programs without
// peers do not link them.
func Encode(b *bson.Builder, s *Sample) {
	b.BeginArray("paths")
	for _, p := range s.paths {
		b.String("", p)
	}
	b.End()
	b.BeginArray("minutes")
	for _, m := range s.minutes {
		b.BeginDoc("")
		b.Int64("at", m.at)
		b.Int64("count", m.count)
		var packed []byte
		for _, x := range m.list {
			packed = x.pack(packed)
		}
		b.Binary("list", 0, packed)
		b.BeginArray("texts")
		if len(m.list) > 0 {
			for v, text := range m.list[0].texts {
				b.BeginDoc("")
				b.Int32("path", int32(v.path))
				b.Int64("hash", int64(v.hash))
				b.String("text", text)
				b.End()
			}
		}
		b.End()
		b.End()
	}
	b.End()
}

// headBytes and valueBytes are the lengths of a packed statement without its values, and of a value.
const (
	headBytes  = 8 + 8 + 4 + 1 + 1
	valueBytes = 2 + 4
)

func (x weighed) pack(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(x.ru))
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(x.sample.ru))
	dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(x.visits))
	dst = append(dst, byte(x.kind), byte(len(x.values)))
	for _, v := range x.values {
		dst = binary.BigEndian.AppendUint16(dst, v.path)
		dst = binary.BigEndian.AppendUint32(dst, v.hash)
	}
	return dst
}

// errSample means that a peer's answer cannot be decoded.
var errSample = errors.New("the sample of requests of another server cannot be read")

// Add adds the encoded sample of a peer to s. Errors: errSample.
func Add(s *Sample, d bson.Raw) error {
	var paths []string
	list, _ := d.Get("paths").Array()
	for v := range list.Values() {
		p, _ := v.Str()
		paths = append(paths, strings.Clone(p))
	}
	known := func(v value) bool { return int(v.path) < len(paths) }
	minutes, _ := d.Get("minutes").Array()
	for v := range minutes.Values() {
		d, _ := v.Doc()
		m := sampled{}
		m.at, _ = d.Get("at").Int64()
		m.count, _ = d.Get("count").Int64()
		texts := map[value]string{}
		list, _ := d.Get("texts").Array()
		for v := range list.Values() {
			d, _ := v.Doc()
			path, _ := d.Get("path").Int32()
			hash, _ := d.Get("hash").Int64()
			text, _ := d.Get("text").Str()
			at := value{uint16(path), uint32(hash)}
			if !known(at) {
				return errSample
			}
			texts[at] = strings.Clone(text)
		}
		_, packed, _ := d.Get("list").Binary()
		for len(packed) > 0 {
			if len(packed) < headBytes || len(packed) < headBytes+valueBytes*int(packed[headBytes-1]) {
				return errSample
			}
			x := weighed{&sample{}, math.Float64frombits(binary.BigEndian.Uint64(packed)), texts}
			x.sample.ru = math.Float64frombits(binary.BigEndian.Uint64(packed[8:]))
			x.visits = math.Float32frombits(binary.BigEndian.Uint32(packed[16:]))
			x.kind = kind(packed[20])
			n := int(packed[headBytes-1])
			packed = packed[headBytes:]
			for range n {
				v := value{binary.BigEndian.Uint16(packed), binary.BigEndian.Uint32(packed[2:])}
				if !known(v) {
					return errSample
				}
				x.values, packed = append(x.values, v), packed[valueBytes:]
			}
			m.list = append(m.list, x)
		}
		s.take(m, func(n uint16) string { return paths[n] })
	}
	return nil
}
