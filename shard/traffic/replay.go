package traffic

import (
	"cmp"
	"math"
	"slices"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/shard"
)

// Replay is what partitions would have had to do under another key.
type Replay struct {
	Minutes []Minute
	// Statements is how many there were, Samples how many of them were kept.
	Statements, Samples int64
	// RU is what they cost, and Cost what they would cost in parts of that.
	RU, Cost float64
	// One, Some, All and Unknown are the parts of the RU, from 0 to 1, that would go to one partition,
	// to some, to all, and to where nobody knows.
	One, Some, All, Unknown float64
	// Values are the shard key values with most work, as parts of the RU.
	Values []Heavy
}

// Minute is one minute.
type Minute struct {
	At    int64     // second at which it begins
	RU    float64   // what was paid
	Loads []float64 // of each partition
}

// Heavy is a value with much work.
type Heavy struct {
	Texts []string // of each field of the key; "" where only the hash was kept
	Share float64
}

// heavyMost is how many heavy values are told.
const heavyMost = 5

// weighed is a statement of the sample with what it stands for.
type weighed struct {
	*sample
	ru    float64
	texts map[value]string
}

// bins calls visit with what was kept of a collection from one second to another, minute by minute.
func (r *Recorder) bins(ns collection.Namespace, from, to int64, visit func(at, count int64, list []weighed)) {
	r.mu.Lock()
	kept := slices.DeleteFunc(slices.Clone(r.kept[:]), func(m *minute) bool { return m == nil || m.at*60+60 <= from || m.at*60 >= to })
	r.mu.Unlock()
	slices.SortFunc(kept, func(a, b *minute) int { return cmp.Compare(a.at, b.at) })
	for _, m := range kept {
		b := (*m.bins.Load())[ns]
		if b == nil {
			continue
		}
		b.mu.Lock()
		list := slices.Clone(b.list)
		count, over := b.count.Load(), b.over
		texts := make(map[value]string, len(b.texts))
		for k, v := range b.texts {
			texts[k] = v
		}
		b.mu.Unlock()
		least := 0.0
		if over && len(list) > 1 { // the lowest says what the others stand for
			least, list = list[0].priority, list[1:]
		}
		out := make([]weighed, len(list))
		for i := range list {
			out[i] = weighed{&list[i], max(list[i].ru, least), texts}
		}
		visit(m.at*60, count, out)
	}
}

// Replay lets what was recorded of a collection from one second to another fall on so many
// partitions of a key. Partitions of a key of one level are parts of the line of equal size; those of
// several are cut where splits would.
// Errors: InvalidOptions (72) for a key that is not hashed.
func (r *Recorder) Replay(ns collection.Namespace, key shard.KeyPattern, partitions int, from, to int64) (*Replay, error) {
	l, err := r.layoutOf(key, partitions)
	if err != nil {
		return nil, err
	}
	var work []positioned
	at := map[uint64]*tally{}
	r.bins(ns, from, to, func(_, _ int64, list []weighed) {
		for _, x := range list {
			w := l.find(x.sample)
			if !w.one {
				continue
			}
			work = append(work, positioned{w.at, x.ru})
			t := at[w.at]
			if t == nil {
				t = &tally{}
				at[w.at] = t
			}
			t.ru += x.ru
			t.name(l, x)
		}
	})
	l.cut(work)
	out, cost := &Replay{Cost: 1}, 0.0
	r.bins(ns, from, to, func(second, count int64, list []weighed) {
		m := Minute{At: second, Loads: make([]float64, partitions)}
		for _, x := range list {
			w := l.find(x.sample)
			new := l.cost(x.sample, w, partitions) * x.ru / x.sample.ru
			m.RU += x.ru
			cost += new
			m.put(w.parts, new)
			switch {
			case w.blind:
				out.Unknown += x.ru
			case w.parts == nil && partitions > 1:
				out.All += x.ru
			case len(w.parts) > 1:
				out.Some += x.ru
			default:
				out.One += x.ru
			}
		}
		out.RU += m.RU
		out.Statements += count
		out.Samples += int64(len(list))
		out.Minutes = append(out.Minutes, m)
	})
	if out.RU > 0 {
		out.Cost = cost / out.RU
		for _, part := range []*float64{&out.One, &out.Some, &out.All, &out.Unknown} {
			*part /= out.RU
		}
		out.Values = heaviest(at, out.RU)
	}
	return out, nil
}

// put gives work to partitions, all of them for nil, the same to each.
func (m *Minute) put(parts []int, ru float64) {
	if parts == nil {
		for p := range m.Loads {
			m.Loads[p] += ru / float64(len(m.Loads))
		}
		return
	}
	for _, p := range parts {
		m.Loads[p] += ru / float64(len(parts))
	}
}

// tally is the work of one value of the key.
type tally struct {
	ru    float64
	texts []string
}

// name notes the texts of a value, as far as they were kept.
func (t *tally) name(l *layout, x weighed) {
	if t.texts == nil {
		t.texts = make([]string, len(l.levels))
	}
	for i, f := range l.levels {
		if t.texts[i] != "" || !f.known {
			continue
		}
		for _, v := range x.values {
			if v.path == f.path {
				t.texts[i] = x.texts[v]
				break
			}
		}
	}
}

// heaviest lists the values with most work.
func heaviest(at map[uint64]*tally, all float64) (out []Heavy) {
	for _, t := range at {
		out = append(out, Heavy{Texts: t.texts, Share: t.ru / all})
	}
	slices.SortFunc(out, func(a, b Heavy) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), slices.Compare(a.Texts, b.Texts))
	})
	return out[:min(len(out), heavyMost)]
}

// Field is a field that statements name.
type Field struct {
	Path    string
	Fixed   float64 // part of the RU whose statements fix it, or store a document that has it
	Values  int     // different ones in the sample
	Largest float64 // part of what fixes it that the value with most of it has
}

// Fields are the fields that recorded statements name, those that most work fixes first.
func (r *Recorder) Fields(ns collection.Namespace, from, to int64, most int) (out []Field) {
	by, all := map[uint16]map[uint32]float64{}, 0.0
	r.bins(ns, from, to, func(_, _ int64, list []weighed) {
		for _, x := range list {
			all += x.ru
			for _, v := range x.values {
				m := by[v.path]
				if m == nil {
					m = map[uint32]float64{}
					by[v.path] = m
				}
				same := 0
				for _, o := range x.values {
					if o.path == v.path {
						same++
					}
				}
				m[v.hash] += x.ru / float64(same)
			}
		}
	})
	for path, m := range by {
		f, sum, largest := Field{Path: r.paths.text(path), Values: len(m)}, 0.0, 0.0
		for _, ru := range m {
			sum += ru
			largest = max(largest, ru)
		}
		f.Fixed, f.Largest = min(1, sum/all), largest/sum
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Field) int {
		return cmp.Or(cmp.Compare(math.Round(100*b.Fixed), math.Round(100*a.Fixed)), cmp.Compare(b.Values, a.Values), cmp.Compare(a.Path, b.Path))
	})
	return out[:min(len(out), most)]
}
