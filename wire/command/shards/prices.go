package shards

import (
	"hash/maphash"
	"time"

	"github.com/cantledb/cantle/bson"
)

const (
	// pricedValues is the number of values of each shape that have a price of their own.
	pricedValues = 8
	// priceRuns is the number of runs after which a price gives the older ones half of their weight, so that it follows a
	// cost that grows with the collection.
	priceRuns = 64
	// costliestBytesMax is the maximum length of a filter that is kept as the costliest of its shape, and costliestAge
	// the time after which a cheaper one may take its place.
	costliestBytesMax = 1024
	costliestAge      = time.Hour
)

// shapePrices holds what a statement of a shape costs: for the values with most of the cost, and for all others
// together. Values are those that a filter compares for equality. The mutex of the shape's part guards it.
type shapePrices struct {
	values    [pricedValues]valuePrice
	others    price
	costliest costliest
}

// price is an average cost.
type price struct{ runs, ru float32 }

// add adds runs and their cost; runs is 0 for a further page of a run.
func (p *price) add(runs int, ru float64) {
	p.runs, p.ru = p.runs+float32(runs), p.ru+float32(ru)
	if p.runs > priceRuns {
		p.runs, p.ru = p.runs/2, p.ru/2
	}
}

// valuePrice is the price of one value. credit decides how long the value keeps its place: its own cost adds to it, and
// the cost of values without a place takes from the least. Source: J. Misra, D. Gries, "Finding repeated elements".
type valuePrice struct {
	hash   uint64 // 0 for none
	credit float32
	price
}

// costliest is the filter of the run of a shape that cost most.
type costliest struct {
	filter bson.Raw
	limit  int64 // of a find, 0 for none
	ru     float64
	at     time.Time
}

// add adds runs of statements whose filter has the values of hash, 0 for none, and their cost in RU.
func (p *shapePrices) add(hash uint64, runs int, ru float64) {
	if hash == 0 {
		p.others.add(runs, ru)
		return
	}
	least := &p.values[0]
	for i := range p.values {
		v := &p.values[i]
		if v.hash == hash {
			v.credit += float32(ru)
			v.price.add(runs, ru)
			return
		}
		if v.credit < least.credit {
			least = v
		}
	}
	if least.credit -= float32(ru); least.credit > 0 || runs == 0 {
		p.others.add(runs, ru)
		return
	}
	if least.runs > 0 {
		p.others.add(int(least.runs+0.5), float64(least.ru))
	}
	*least = valuePrice{hash: hash, credit: float32(ru)}
	least.price.add(runs, ru)
}

// of returns what a statement whose filter has the values of hash costs on average, in RU: ru, and at least least, which
// is less if only other values have run, each of them with a price of its own. known is true if a statement of the
// shape has run.
func (p *shapePrices) of(hash uint64) (least, ru float64, known bool) {
	all := p.others
	for i := range p.values {
		v := &p.values[i]
		if v.hash == hash && hash != 0 && v.runs > 0 {
			own := float64(v.ru / v.runs)
			return own, own, true
		}
		all.runs, all.ru = all.runs+v.runs, all.ru+v.ru
	}
	if p.others.runs > 0 {
		ru = float64(p.others.ru / p.others.runs)
		return ru, ru, true
	}
	if all.runs <= 0 {
		return refusedRU, refusedRU, false
	}
	ru = float64(all.ru / all.runs)
	return min(refusedRU, ru), ru, true
}

// note keeps the filter of a run if it cost more than the one that is kept, or that one is too old. body is the command.
func (p *costliest) note(body, filter bson.Raw, ru float64, now time.Time) {
	if ru <= 0 || filter.IsEmpty() || len(filter) > costliestBytesMax || ru <= p.ru && now.Sub(p.at) < costliestAge {
		return
	}
	limit, _ := body.Get("limit").AsInt64()
	*p = costliest{filter.Clone(), max(0, limit), ru, now}
}

// appendTo appends the filter and its cost, if there is one and the user may see values.
func (p *costliest) appendTo(b *bson.Builder, values bool) {
	if p.filter == nil || !values {
		return
	}
	b.BeginDoc("costliest")
	b.Raw("filter", p.filter)
	if p.limit > 0 {
		b.Int64("limit", p.limit)
	}
	b.Double("ru", p.ru)
	b.DateTime("at", p.at.UnixMilli())
	b.End()
}

// parseCostliest reads the form of appendTo from the document of a shape.
func parseCostliest(shape bson.Raw) (p costliest) {
	d, _ := shape.Get("costliest").Doc()
	if filter, ok := d.Get("filter").Doc(); ok {
		p.filter = filter.Clone()
	}
	p.limit, _ = d.Get("limit").AsInt64()
	p.ru, _ = d.Get("ru").AsFloat()
	if ms, ok := d.Get("at").DateTime(); ok {
		p.at = time.UnixMilli(ms)
	}
	return p
}

// valueHash returns a hash of the values that a filter compares for equality, also inside of $and; 0 if there are none.
func (x *shapes) valueHash(filter bson.Raw) uint64 {
	if filter.IsEmpty() {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(x.seed)
	if hashEqualities(&h, filter, 0) == 0 {
		return 0
	}
	return max(1, h.Sum64())
}

// hashEqualities writes the fields and values that a filter compares for equality into h, and returns their number, at
// most shapeListMax.
func hashEqualities(h *maphash.Hash, d bson.Raw, depth int) (n int) {
	for it := d.Iter(); it.Next() && n < shapeListMax; {
		name, v := it.Name, it.Value
		if string(name) == "$and" && depth < shapeDepthMax {
			list, _ := v.Array()
			for v := range list.Values() {
				inner, _ := v.Doc()
				n += hashEqualities(h, inner, depth+1)
			}
			continue
		}
		if len(name) == 0 || name[0] == '$' || conditionKind(v) != "equal" {
			continue
		}
		if inner, ok := v.Doc(); ok && v.Type == bson.TypeDocument && hasOperator(inner) {
			f, _ := inner.First()
			v = f.Value
		}
		h.Write(name)
		h.WriteByte(byte(v.Type))
		h.Write(v.Data)
		n++
	}
	return n
}
