package ratelimit

import "testing"

// op is a step of a priced operation.
type op func(*Meter)

func times(n int, o op) op {
	return func(m *Meter) {
		for range n {
			o(m)
		}
	}
}

func all(ops ...op) op {
	return func(m *Meter) {
		for _, o := range ops {
			o(m)
		}
	}
}

func pointRead(bytes int) op { return func(m *Meter) { m.PointRead(0, bytes) } }

func insert(bytes int, terms int64) op {
	return func(m *Meter) { m.WriteNew(0, bytes); m.Terms(0, terms, 0) }
}

func remove(bytes int, terms int64) op {
	return func(m *Meter) { m.WriteOld(0, bytes); m.Terms(0, 0, terms) }
}

func update(old, new int, added, removed int64) op {
	return func(m *Meter) { m.Replaced(0, old); m.WriteNew(0, new); m.Terms(0, added, removed) }
}

// query returns an operation for a price test: one query over some partitions, in which docs documents are loaded
// and returned bytes are returned in total.
func query(partitions, seeks int, docs, computed, returned int64) op {
	return func(m *Meter) {
		for s := range partitions {
			m.Visit(s, seeks)
		}
		m.Add(0, DocLoaded, docs)
		m.Add(0, ComputedTest, computed)
		m.Add(0, ByteReturned, returned)
	}
}

func count(partitions int, entries int64) op {
	return func(m *Meter) {
		for s := range partitions {
			m.Visit(s, 1)
		}
		m.Add(0, CountEntry, entries)
	}
}

func strong(o op) op { return func(m *Meter) { m.SetStrong(true); o(m) } }

// All normative examples of the published price list.
func TestNormativePrices(t *testing.T) {
	const mib = 1024 * kib
	for _, c := range []struct {
		name string
		do   op
		want string
	}{
		{"point read 0.2 KB", pointRead(205), "1.00"},
		{"point read 1 KB", pointRead(kib), "1.00"},
		{"point read 2 KB", pointRead(2 * kib), "1.09"},
		{"point read 4 KB", pointRead(4 * kib), "1.27"},
		{"point read 10 KB", pointRead(10 * kib), "1.82"},
		{"point read 100 KB", pointRead(100 * kib), "10.00"},
		{"point read 1 MB", pointRead(mib), "94.00"},
		{"point read 16 MB", pointRead(16 * mib), "1490.36"},
		{"point read of nothing", pointRead(0), "1.00"},
		{"insert 1 KB T=1", insert(kib, 1), "5.40"},
		{"insert 1 KB T=2", insert(kib, 2), "5.80"},
		{"insert 1 KB T=5", insert(kib, 5), "7.00"},
		{"insert 1 KB T=12", insert(kib, 12), "9.80"},
		{"insert 1 KB T=25", insert(kib, 25), "15.00"},
		{"insert 4 KB T=2", insert(4*kib, 2), "7.16"},
		{"insert 10 KB T=2", insert(10*kib, 2), "9.89"},
		{"insert 100 KB T=2", insert(100*kib, 2), "50.80"},
		{"insert 2 MB T=2", insert(2*mib, 2), "936.25"},
		{"insert 16 MB T=1", insert(16*mib, 1), "7452.22"},
		{"update 1 KB by point, no indexed field", update(kib, kib, 0, 0), "10.00"},
		{"update 1 KB by point, one indexed field", update(kib, kib, 1, 1), "10.80"},
		{"update 1 KB by point, grows to 4 KB", update(kib, 4*kib, 0, 0), "11.36"},
		{"update located by a query, no indexed field", all(query(1, 1, 1, 0, 0), update(kib, kib, 0, 0)), "12.55"},
		{"update located by a query, one indexed field", all(query(1, 1, 1, 0, 0), update(kib, kib, 1, 1)), "13.35"},
		{"update located by a query, grows", all(query(1, 1, 1, 0, 0), update(kib, 4*kib, 0, 0)), "13.91"},
		{"no-op update by point", pointRead(kib), "1.00"},
		{"delete 1 KB by point, T=2", remove(kib, 2), "5.80"},
		{"updateMany of 100", all(query(1, 1, 100, 0, 0), times(100, update(kib, kib, 1, 1))), "1087.25"},
		{"query 10 x 1 KB on 1", query(1, 1, 10, 0, 10*kib), "3.58"},
		{"query 10 x 1 KB on 4", query(4, 1, 10, 0, 10*kib), "11.08"},
		{"query without match on 10", query(10, 1, 0, 0, 0), "25.00"},
		{"scan of 10 000 on 1", query(1, 1, 10_000, 0, 10*kib), "478.10"},
		{"scan of 10 000 on 4", query(4, 1, 10_000, 0, 10*kib), "485.60"},
		{"scan of 10 000 with $expr", query(1, 1, 10_000, 10_000, 10*kib), "668.10"},
		{"two indexed predicates", query(1, 2, 5, 0, 5*kib), "3.29"},
		{"$in of 20", query(1, 20, 20, 0, 20*kib), "9.40"},
		{"count of 1 000 from index", count(1, 1000), "7.50"},
		{"count of 1 000 by loading", query(1, 1, 1000, 0, 0), "50.00"},
		{"$match 500 then $group on 1", query(1, 1, 500, 0, kib), "26.31"},
		{"$match 500 then $group on 5", query(5, 1, 500, 0, kib), "36.31"},
		{"$lookup of 20 inputs", all(query(1, 1, 20, 0, 0), times(20, query(1, 1, 1, 0, kib))), "55.60"},
		{"transaction", all(times(3, insert(kib, 2)), pointRead(kib)), "18.40"},
		{"strong point read", strong(pointRead(kib)), "2.00"},
		{"strong query", strong(query(1, 1, 10, 0, 10*kib)), "7.15"},
		// Rules without a row in the published table.
		{"metadata count on 3", count(3, 0), "7.50"},
		{"failed write", func(m *Meter) { m.Add(0, Failure, 1) }, "5.00"},
		{"refusal", func(m *Meter) { m.Add(0, Refusal, 1) }, "0.00"},
		{"metadata command", func(m *Meter) { m.Add(0, Metadata, 1) }, "1.00"},
		{"idle change stream poll", func(m *Meter) { m.Add(0, IdlePoll, 1) }, "1.00"},
		{"strong does not double writes", strong(insert(kib, 1)), "5.40"},
	} {
		var m Meter
		c.do(&m)
		if got := m.Total().String(); got != c.want {
			t.Errorf("%s: %s RU, want %s", c.name, got, c.want)
		}
		r := m.Receipt()
		if r.Total != m.Total() {
			t.Errorf("%s: receipt %d, total %d", c.name, r.Total, m.Total())
		}
		var sum MicroRU
		for _, l := range r.Lines {
			for _, i := range l.Items {
				sum += i.Charge
			}
		}
		if sum != r.Total {
			t.Errorf("%s: items add up to %d, receipt says %d", c.name, sum, r.Total)
		}
	}
}

func TestPriceFunctions(t *testing.T) {
	p := Normative()
	if got := p.PointRead(4 * kib).String(); got != "1.27" {
		t.Errorf("PointRead: %s", got)
	}
	if got := p.BaseWrite(4 * kib).String(); got != "6.36" {
		t.Errorf("BaseWrite: %s", got)
	}
	for bytes, want := range map[int]int64{0: 1, 1: 1, 128: 1, 129: 2, 256: 2, 2047: 16, 2048: 16, 2049: 16, 1 << 20: 16} {
		if got := p.TermWeight(bytes); got != want {
			t.Errorf("TermWeight(%d) = %d, want %d", bytes, got, want)
		}
	}
	if p.Price(DocLoaded, 1<<62) != microMax {
		t.Error("a huge quantity does not saturate")
	}
	for i, r := range p.Rows() {
		if r.Item != Item(i) || r.Name == "" || r.Per <= 0 || r.Rules == "" || Item(i).String() != r.Name {
			t.Errorf("row %d is incomplete: %+v", i, r)
		}
	}
}

func TestMicroRUFormat(t *testing.T) {
	for c, want := range map[MicroRU]string{
		0: "0.00", 1: "0.00", 4_999: "0.00", 5_000: "0.01", 3_575_000: "3.58", 3_574_999: "3.57",
		10 * RU: "10.00", -RU: "-1.00", -1_505_000: "-1.50", -1_506_000: "-1.51",
	} {
		if got := c.String(); got != want {
			t.Errorf("%d prints %s, want %s", int64(c), got, want)
		}
	}
	if MicroRU(2_480_000).Float() != 2.48 {
		t.Error("Float")
	}
}
