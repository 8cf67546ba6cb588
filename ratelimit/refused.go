package ratelimit

// CountRefused adds to a shard's counters a lower and an upper bound, least and most, of the price of a request that
// budgets refused. Nothing is charged: the sums are the demand that the budget did not serve.
func (b *Budgets) CountRefused(at ShardID, least, most MicroRU) {
	p := b.Collection(at.Collection)
	r := &p.set.Load().at(at.Shard).requests
	r.refusedLeast.Add(int64(least))
	r.refusedMost.Add(int64(most))
	p.markActive()
}

// CountRetried adds to a shard's counters the charge of requests that ran after budgets had refused them, and whose price
// CountRefused has counted already.
func (b *Budgets) CountRetried(at ShardID, charge MicroRU) {
	p := b.Collection(at.Collection)
	p.set.Load().at(at.Shard).requests.retried.Add(int64(charge))
	p.markActive()
}
