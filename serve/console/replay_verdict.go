package console

import "github.com/cantledb/cantle/shard/skew"

// verdictOf judges the loads of a replay, in RU/s by partition and column, if each partition has a limit in RU/s.
func verdictOf(loads [][]float64, step int64, limit float64) pattern {
	p := &skew.Past{Step: step}
	for i, load := range loads {
		t := skew.Track{Part: i, Limit: limit, RU: make([]float64, len(load)), Refused: make([]float64, len(load))}
		for j, v := range load {
			if v == absent {
				continue
			}
			t.RU[j], t.Refused[j] = min(v, limit), max(0, v-limit)
		}
		p.Tracks = append(p.Tracks, t)
	}
	return newPattern(p.Judge())
}
