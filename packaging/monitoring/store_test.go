package monitoring

import (
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// store holds scraped numbers in memory for Prometheus' query engine. Prometheus' own store for tests is not used: it
// imports the clients of all clouds, whose compilation takes longer than all else here. Not safe for concurrent use.
type store struct {
	series []*storedSeries
	at     map[uint64][]*storedSeries // by the hash of the labels
}

type storedSeries struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// add adds a number. The times of a series come in ascending order.
func (s *store) add(l labels.Labels, millis int64, v float64) {
	h := l.Hash()
	for _, x := range s.at[h] {
		if labels.Equal(x.labels, l) {
			x.samples = append(x.samples, number{millis, v})
			return
		}
	}
	x := &storedSeries{l, []chunks.Sample{number{millis, v}}}
	s.series = append(s.series, x)
	if s.at == nil {
		s.at = map[uint64][]*storedSeries{}
	}
	s.at[h] = append(s.at[h], x)
}

// Querier implements storage.Queryable.
func (s *store) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: s.find}, nil
}

// find returns the series that match, with all their numbers; the engine selects those of a time.
func (s *store) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{at: -1}
	for _, x := range s.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(x.labels.Get(m.Name)) }) {
			set.series = append(set.series, storage.NewListSeries(x.labels, x.samples))
		}
	}
	slices.SortFunc(set.series, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return set
}

// seriesSet is a list of series, of which the one at the index at is current.
type seriesSet struct {
	series []storage.Series
	at     int
}

func (s *seriesSet) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series              { return s.series[s.at] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// number is a sample that is no histogram.
type number struct {
	millis int64
	v      float64
}

func (n number) T() int64                    { return n.millis }
func (number) ST() int64                     { return 0 }
func (n number) F() float64                  { return n.v }
func (number) H() *histogram.Histogram       { return nil }
func (number) FH() *histogram.FloatHistogram { return nil }
func (number) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (n number) Copy() chunks.Sample         { return n }
