package ratelimit

import (
	"cmp"
	"slices"
)

// Receipt is the itemised charge of one request, for explain. The charges of a line's items add up exactly to the Total
// of the line, and those of the lines to the Total of the receipt.
type Receipt struct {
	Prices string // name and version of the price list
	Total  MicroRU
	Lines  []Line // by collection, then shard
}

// Line is the part of a receipt that one shard pays.
type Line struct {
	ShardID
	Total MicroRU
	Items []ItemCharge // in Item order; only items with a quantity and a price
}

// ItemCharge is one row of a receipt.
type ItemCharge struct {
	Item     Item
	Quantity int64
	Charge   MicroRU
}

// Receipt returns the receipt of everything counted so far. The receipt shares no memory with the meter.
func (m *Meter) Receipt() Receipt {
	p := m.Prices()
	r := Receipt{Prices: p.String()}
	if m == nil {
		return r
	}
	m.each(func(s *slot) {
		line := Line{ShardID: s.shardID}
		for i, q := range s.quantity {
			if q == 0 || p.rows[i].Micro == 0 {
				continue
			}
			c := p.priceFor(Item(i), q, m.strong)
			line.Items = append(line.Items, ItemCharge{Item(i), q, c})
			line.Total = addSaturating(line.Total, c)
		}
		if len(line.Items) != 0 {
			r.Lines = append(r.Lines, line)
			r.Total = addSaturating(r.Total, line.Total)
		}
	})
	slices.SortFunc(r.Lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Collection, b.Collection), cmp.Compare(a.Shard, b.Shard))
	})
	return r
}
