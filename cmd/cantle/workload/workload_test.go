package workload

import "testing"

// solve returns the least number of partitions that can serve the RU/s, although fan-outs cost more with each
// partition, and that can hold the data.
func TestEstimateSolves(t *testing.T) {
	p := Workload{bytes: 1024, stored: 1024, terms: 2, sharded: true, PerQuery: 1, PartitionGB: 50, FanOuts: 1000, Inserts: 5000}
	_, rus, partitions := p.solve()
	if float64(partitions)*6_000 < rus || float64(partitions-1)*6_000 >= rus { // what manual throughput begins with
		t.Errorf("%d partitions for %v RU/s", partitions, rus)
	}
	p.PartitionRU = 20_000
	if _, rus, partitions = p.solve(); float64(partitions)*20_000 < rus || float64(partitions-1)*20_000 >= rus {
		t.Errorf("%d partitions of 20,000 RU/s for %v RU/s", partitions, rus)
	}
	p = Workload{bytes: 1024, stored: 1024, sharded: true, PartitionGB: 50, Documents: 200 << 20}
	if _, _, n := p.solve(); n != 4 {
		t.Errorf("200 GB on %d partitions", n)
	}
	p.FanOuts, p.Documents = 1e6, 0 // can never be carried
	if _, _, n := p.solve(); n < 2 {
		t.Errorf("%d partitions", n)
	}
}
