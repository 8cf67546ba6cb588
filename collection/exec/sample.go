package exec

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Sample delivers records at random: each set of its size of the records of all its shards has the same probability,
// and no record comes twice. It reads keys, and the documents that it delivers.
//
// If the store has divided the ranges of the records into parts, each with an upper bound of its keys, places are drawn
// from all bounds together. A place is a part and a number below the part's bound. Each record is one of the places; a
// place that is none, because its part has fewer keys, is drawn again. So the bounds do not affect the probabilities, and
// only parts that were drawn are read. Otherwise all keys are read.
type Sample struct {
	node   *plan.Sample
	src    Source
	shards []*SampleShard
	random func() float64

	parts  []samplePart
	loaded bool
	picked []sampled
	held   int // bytes of picked, for the memory budget
	memory *mql.Memory
	at     int
	page   page // the next rows
	keys   [][]byte
	rowAt  int
}

// SampleShard is one shard of a Sample. Range holds the keys of its records, Parts the division of the range; nil if
// there is none. Its counters may be read once the sample is closed.
type SampleShard struct {
	Counters
	Shard int
	Range storage.Range
	Parts []storage.Part
	node  *plan.Sample
	// charged reports that the visit of the shard was charged.
	charged bool
}

// samplePart is a part of the range of a shard. end is the number of the places of this part and those before.
type samplePart struct {
	shard *SampleShard
	storage.Range
	end uint64
}

// sampled is a record that was drawn, by its key.
type sampled struct {
	shard *SampleShard
	key   []byte
}

// NewSampleShard returns one shard of a sample; src has the shard. divide is nil, or divides a range.
// Errors: the errors of divide.
func NewSampleShard(n *plan.Sample, src Source, divide func(r storage.Range) ([]storage.Part, error)) (*SampleShard, error) {
	s := &SampleShard{node: n, Shard: int(src.Shard.ID), Range: recordRanges(&plan.RecordScan{}, src)[0]}
	var err error
	if divide != nil {
		s.Parts, err = divide(s.Range)
	}
	return s, err
}

// NewSample returns a sample of the records of several shards. random returns numbers of [0, 1); nil is the usual
// source.
func NewSample(n *plan.Sample, src Source, shards []*SampleShard, random func() float64) *Sample {
	if random == nil {
		random = rand.Float64
	}
	return &Sample{node: n, src: src, shards: shards, random: random}
}

// below returns a random number of [0, n).
func (s *Sample) below(n uint64) uint64 { return min(uint64(s.random()*float64(n)), n-1) }

// Next implements Operator.
func (s *Sample) Next(env *mql.Env) (*Row, error) {
	if !s.loaded {
		s.loaded, s.memory = true, env.Memory
		env.NoteRandom()
		if err := s.load(env); err != nil {
			return nil, err
		}
	}
	for s.rowAt >= len(s.page.rows) {
		if s.at >= len(s.picked) {
			for _, p := range s.shards {
				p.Done = true
			}
			return nil, nil
		}
		if err := s.fetch(env); err != nil {
			return nil, err
		}
	}
	s.rowAt++
	return &s.page.rows[s.rowAt-1], nil
}

// load draws the records.
func (s *Sample) load(env *mql.Env) error {
	places := uint64(0)
	for _, p := range s.shards {
		if p.Parts == nil {
			return s.byKeys(env)
		}
		for _, part := range p.Parts {
			places += part.Keys
			s.parts = append(s.parts, samplePart{p, part.Range, places})
		}
	}
	// With more records, nearly all parts would be read.
	if int64(len(s.parts)) >= 2*s.node.Size && places > 0 {
		if done, err := s.byPlaces(env, places); done || err != nil {
			return err
		}
	}
	return s.byKeys(env)
}

// drawsMax is the number of draws for each record after which all keys are read instead: most entries are not alive.
const drawsMax = 16

// place is a place that was drawn: the number of a key in a part. draw is the number of the draw.
type place struct {
	part *samplePart
	n    uint64
	draw int
}

// byPlaces draws places until enough of them are records. It returns false if these are too few; how many draws were
// records does not depend on which records they are.
func (s *Sample) byPlaces(env *mql.Env, all uint64) (bool, error) {
	taken := map[string]bool{}
	for draws := int64(0); int64(len(s.picked)) < s.node.Size; {
		left := int(s.node.Size) - len(s.picked)
		if draws += int64(left); draws > drawsMax*max(s.node.Size, 4) {
			s.forget()
			return false, nil
		}
		places := make([]place, left)
		for i := range places {
			places[i] = s.draw(s.below(all))
			places[i].draw = i
		}
		found, err := s.read(env, places)
		if err != nil {
			return true, err
		}
		for i, key := range found {
			if key == nil || taken[string(key)] {
				continue
			}
			taken[string(key)] = true
			if err := s.keep(env, sampled{places[i].part.shard, key}); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// draw returns the place with a number, of all places of all parts.
func (s *Sample) draw(n uint64) place {
	at, _ := slices.BinarySearchFunc(s.parts, n, func(p samplePart, n uint64) int {
		if p.end <= n {
			return -1
		}
		return 1
	})
	if at > 0 {
		n -= s.parts[at-1].end
	}
	return place{part: &s.parts[at], n: n}
}

// read returns the key of each place, by the number of its draw; nil for a place that is no record. It reads each part
// up to the last of its places.
func (s *Sample) read(env *mql.Env, places []place) ([][]byte, error) {
	found := make([][]byte, len(places))
	sorted := slices.Clone(places)
	slices.SortFunc(sorted, func(a, b place) int {
		if c := bytes.Compare(a.part.Start, b.part.Start); c != 0 {
			return c
		}
		return cmp.Compare(a.n, b.n)
	})
	for len(sorted) > 0 {
		part := sorted[0].part
		n := 1
		for n < len(sorted) && sorted[n].part == part {
			n++
		}
		wanted := sorted[:n]
		sorted = sorted[n:]
		at := uint64(0)
		err := s.each(env, part.shard, part.Range, func(key []byte) bool {
			for len(wanted) > 0 && wanted[0].n == at {
				found[wanted[0].draw] = bytes.Clone(key)
				wanted = wanted[1:]
			}
			at++
			return len(wanted) > 0
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// byKeys draws the records while it reads all keys: after n keys, each set of Size of them has the same probability.
func (s *Sample) byKeys(env *mql.Env) error {
	seen := uint64(0)
	for _, p := range s.shards {
		var failed error
		err := s.each(env, p, p.Range, func(key []byte) bool {
			seen++
			if int64(len(s.picked)) < s.node.Size {
				failed = s.keep(env, sampled{p, bytes.Clone(key)})
			} else if i := s.below(seen); i < uint64(s.node.Size) {
				old := &s.picked[i]
				s.held -= len(old.key)
				env.Memory.Shrink(len(old.key))
				*old = sampled{p, append(old.key[:0], key...)}
				failed = s.grow(env, len(key))
			}
			return failed == nil
		})
		if err != nil || failed != nil {
			return cmp.Or(failed, err)
		}
	}
	for i := len(s.picked) - 1; i > 0; i-- { // the order of the keys must not show
		j := s.below(uint64(i + 1))
		s.picked[i], s.picked[j] = s.picked[j], s.picked[i]
	}
	return nil
}

// sampledBytes is the memory of a sampled record beside its key.
const sampledBytes = 32

// keep adds a record to the sample.
func (s *Sample) keep(env *mql.Env, r sampled) error {
	s.picked = append(s.picked, r)
	return s.grow(env, len(r.key)+sampledBytes)
}

// grow counts bytes of the sample in the memory budget of the command. Errors: ExceededMemoryLimit.
func (s *Sample) grow(env *mql.Env, n int) error {
	s.held += n
	if !env.Memory.Grow(n) {
		return env.Memory.ExceededError("$sample")
	}
	return nil
}

// forget drops the sample.
func (s *Sample) forget() {
	if s.memory != nil {
		s.memory.Shrink(s.held)
	}
	s.picked, s.held = nil, 0
}

// each calls visit with the keys of a range, until it returns false.
func (s *Sample) each(env *mql.Env, p *SampleShard, r storage.Range, visit func(key []byte) bool) error {
	if !p.charged {
		p.charged = true
		env.Meter.Visit(p.Shard, 1)
	}
	var w walk
	if err := w.begin(env, s.src.Reader, r, storage.IterOptions{KeysOnly: true}); err != nil {
		return err
	}
	defer w.it.Close()
	for w.it.Next() {
		if err := env.Tick(); err != nil {
			return err
		}
		p.KeysExamined++
		p.Works++
		env.Meter.Add(p.Shard, ratelimit.CountEntry, 1)
		if err := s.src.Trial.spend(1); err != nil {
			return err
		}
		if !visit(w.it.Key()) {
			return nil
		}
	}
	return w.it.Err()
}

// fetch reads the documents of the next records.
func (s *Sample) fetch(env *mql.Env) error {
	s.page.rows, s.page.mem, s.rowAt, s.keys = s.page.rows[:0], s.page.mem[:0], 0, s.keys[:0]
	for _, p := range s.picked[s.at:min(len(s.picked), s.at+batchMost)] {
		s.keys = append(s.keys, p.key)
	}
	from, size := s.at, 0
	return s.src.Reader.GetMany(env.Context(), s.keys, func(i int, value []byte) error {
		if size > pageBytes {
			return nil // large documents: the next batch reads it
		}
		s.at = from + i + 1
		if value == nil {
			return nil
		}
		size += len(value)
		p := s.picked[from+i].shard
		p.DocsExamined++
		p.Returned++
		env.Meter.Loaded(p.Shard, len(value), 0)
		if err := env.Row(len(value)); err != nil {
			return err
		}
		_, h, id, ok := keyspace.SplitRecord(s.picked[from+i].key)
		if !ok {
			return storage.ErrCorruption
		}
		s.page.rows = append(s.page.rows, Row{Doc: s.page.copyIn(value), Hash: h, ID: id, Shard: p.Shard})
		return nil
	})
}

// Explain implements Operator.
func (s *Sample) Explain(b *bson.Builder, stats bool) { s.shards[0].Explain(b, stats) }

// Park implements Operator: no iterator is open between two rows.
func (s *Sample) Park() (int, bool) { return s.page.bytes(), true }

// Close implements Operator.
func (s *Sample) Close() {
	s.forget()
	s.loaded, s.page = true, page{}
}

// Explain implements Operator.
func (p *SampleShard) Explain(b *bson.Builder, stats bool) {
	explainNode(b, p.node, &p.Counters, stats)
	if stats {
		p.appendExamined(b)
	}
}

// Next implements Operator. It delivers nothing: a SampleShard shows the counters of its shard only.
func (p *SampleShard) Next(*mql.Env) (*Row, error) { return nil, nil }

// Park implements Operator.
func (p *SampleShard) Park() (int, bool) { return 0, true }

// Close implements Operator.
func (p *SampleShard) Close() {}
