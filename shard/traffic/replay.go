package traffic

import (
	"cmp"
	"math"
	"slices"

	"github.com/cantledb/cantle/collection/shard"
)

// Replay holds the work that the partitions of a collection would have had under another shard key.
type Replay struct {
	Minutes []Minute
	// Statements is the number of statements, Samples the number that were kept.
	Statements, Samples int64
	// RU is the cost of the statements in request units, and Cost their cost under the replayed key as a fraction of
	// RU.
	RU, Cost float64
	// One, Some, All and Unknown are the fractions of the RU, from 0 to 1, that would go to one
	// partition, to some, to all, and to unknown partitions.
	One, Some, All, Unknown float64
	// Values are the shard key values with most work of statements that fix one value, as fractions of the RU.
	Values []Heavy
}

// Minute is one minute.
type Minute struct {
	At    int64     // second at which it begins
	RU    float64   // charged in the minute
	Loads []float64 // of each partition
}

// Heavy is a shard key value with much work.
type Heavy struct {
	Texts []string // of each field of the key; "" if only the hash was kept
	Share float64
}

// heavyMost bounds the number of heavy values in a Replay.
const heavyMost = 5

// Replay distributes the sample over the given number of partitions under a shard key. Partitions of a key of one
// level have equal parts of the line of hashes; those of several levels are divided as splits would divide them.
// Errors: InvalidOptions (72) for a key that is not hashed.
func (s *Sample) Replay(key shard.KeyPattern, partitions int) (*Replay, error) {
	l, err := s.layoutOf(key, partitions)
	if err != nil {
		return nil, err
	}
	var work []positioned
	at := map[uint64]*tally{}
	for _, m := range s.minutes {
		for _, x := range m.list {
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
	}
	l.cut(work)
	out, cost := &Replay{Cost: 1}, 0.0
	for _, kept := range s.minutes {
		m := Minute{At: kept.at, Loads: make([]float64, partitions)}
		for _, x := range kept.list {
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
		out.Statements += kept.count
		out.Samples += int64(len(kept.list))
		out.Minutes = append(out.Minutes, m)
	}
	if out.RU > 0 {
		out.Cost = cost / out.RU
		for _, part := range []*float64{&out.One, &out.Some, &out.All, &out.Unknown} {
			*part /= out.RU
		}
		out.Values = heaviest(at, out.RU)
	}
	return out, nil
}

// put adds the work of a statement to partitions, the same to each; nil parts mean all partitions.
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

// tally sums the RU of the statements that fix the replayed shard key to one certain value.
type tally struct {
	ru    float64
	texts []string
}

// name sets the texts of a shard key value, one for each field of the key, from a statement whose sample kept them.
func (t *tally) name(l *layout, x weighed) {
	if t.texts == nil {
		t.texts = make([]string, len(l.levels))
	}
	for i, f := range l.levels {
		if t.texts[i] != "" || !f.numbered {
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

// Field is a field that occurs in statements.
type Field struct {
	Path    string
	Fixed   float64 // fraction of the RU whose statements fix it, or store a document that has it
	Values  int     // number of different values in the sample
	Largest float64 // fraction of the RU of statements that fix the field, spent on its most expensive value
}

// Fields returns up to most fields that occur in the sample, those that fix most work, in whole percent, first.
func (s *Sample) Fields(most int) (out []Field) {
	by, all := map[uint16]map[uint32]float64{}, 0.0
	for _, m := range s.minutes {
		for _, x := range m.list {
			all += x.ru
			for _, v := range x.values {
				hashes := by[v.path]
				if hashes == nil {
					hashes = map[uint32]float64{}
					by[v.path] = hashes
				}
				same := 0
				for _, o := range x.values {
					if o.path == v.path {
						same++
					}
				}
				hashes[v.hash] += x.ru / float64(same)
			}
		}
	}
	for path, m := range by {
		f, sum, largest := Field{Path: s.paths[path], Values: len(m)}, 0.0, 0.0
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
