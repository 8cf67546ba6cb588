package shards

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/traffic"
	"github.com/cantledb/cantle/wire/command"
)

// refusedRU is the least cost, in request units, that is assumed for a refused statement.
const refusedRU = 1

// recordTraffic records the statements of a completed command for the report GetRecordedTraffic: those that ran with an
// equal part of the command's charge each, refused ones with the price of their value. A bulkWrite is not recorded. body
// is the query; for a getMore, the query that opened the cursor. usual is the average run of the shape, whose prices are
// nil if nothing was refused. refused are the refused statements.
func (s *State) recordTraffic(c *command.Call, def *command.Def, body bson.Raw, r shapeRun, usual averageRun, prices *shapePrices, refused map[int]*cluster.Refusal) {
	x := traffic.Statement{NS: c.Running.NS, At: c.Start.Add(r.took), Write: def.Kind != command.KindRead, Page: r.more}
	each := float64(max(1, r.ran))
	s.eachStatement(c, def, body, func(i int, text, filter bson.Raw) {
		x.Filter, x.Document = filter, nil
		if def.Query == nil {
			x.Document = text
		}
		switch {
		case prices == nil && r.refused: // by a test, or in a part of a pipeline
			x.RU, x.Visits = max(usual.ru, refusedRU), usual.visits
		case refused[i] == nil:
			x.RU, x.Visits = r.charge.Float()/each, float64(r.paid)/each
		default:
			_, ru, _ := prices.of(s.shapes.valueHash(filter))
			x.RU, x.Visits = max(ru, refusedRU), usual.visits
		}
		s.traffic.Note(&x)
	})
}
