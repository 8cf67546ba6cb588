package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/shard/traffic"
	"github.com/cantledb/cantle/wire/command"
)

// refusedRU is the least cost, in request units, that recordTraffic assumes for a refused statement.
const refusedRU = 1

// recordTraffic records the statements of a completed command for the report GetRecordedTraffic, each with an equal
// part of the command's charge. A bulkWrite is not recorded. body is the query; for a getMore, the query that opened
// the cursor. usual is the cost assumed for a refused statement.
func (s *State) recordTraffic(c *command.Call, def *command.Def, body bson.Raw, r shapeRun, usual averageRun) {
	x := traffic.Statement{NS: c.Running.NS, At: c.Start.Add(r.took), RU: r.charge.Float(), Visits: float64(r.paid), Write: def.Kind != command.KindRead, Page: r.more}
	if r.refused {
		x.RU, x.Visits = max(usual.ru, refusedRU), usual.visits
	}
	switch {
	case def.Namespace == command.SeveralNamespaces: // its statements concern several collections
	case def.Statements != "" && !r.more:
		n := 0
		c.EachStatement(func(bson.Raw) bool { n++; return true })
		x.RU, x.Visits = x.RU/float64(max(1, n)), x.Visits/float64(max(1, n))
		c.EachStatement(func(d bson.Raw) bool {
			if def.Query == nil {
				x.Document = d
			} else {
				x.Filter, _ = def.Query(d)
			}
			s.traffic.Note(&x)
			return true
		})
	case def.Query != nil:
		x.Filter, _ = def.Query(body)
		s.traffic.Note(&x)
	}
}
