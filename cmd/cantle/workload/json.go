package workload

import (
	"math"

	"github.com/cantledb/cantle/bson"
)

// JSON returns the numbers that Print prints, for programs.
func (p *Workload) JSON() bson.Raw {
	ops, rus, partitions := p.solve()
	list := bson.A{}
	for _, o := range ops {
		list = append(list, bson.D{{"operation", o.Name}, {"ruEach", o.Charge.Float()}, {"perSecond", o.Rate}, {"ruPerSecond", o.Charge.Float() * o.Rate}})
	}
	manual, autoscale := p.offers(rus)
	return bson.D{{"documentBytes", p.bytes}, {"indexEntries", p.entries}, {"prices", p.Prices.String()}, {"operations", list},
		{"ruPerSecond", rus}, {"offerThroughput", manual}, {"maxThroughput", autoscale}, {"storedBytes", p.stored * p.Documents},
		{"partitions", partitions}, {"ruPerPartition", math.Floor(float64(manual) / float64(partitions))}}.Doc()
}
