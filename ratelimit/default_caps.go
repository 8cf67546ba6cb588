package ratelimit

// defaultCaps are the caps that a pool gives to commands without their own; 0 is none. Immutable.
type defaultCaps struct {
	pool   MicroRU
	groups [GroupsMax]MicroRU
}

// defaultCaps returns the caps in the options; nil if there are none, so that most commands need not compare.
func (o *Options) defaultCaps() *defaultCaps {
	d := &defaultCaps{pool: o.RequestMax}
	for i, g := range o.Groups {
		if g.Percent != 0 {
			d.groups[i] = g.RequestMax
		}
	}
	if *d == (defaultCaps{}) {
		return nil
	}
	return d
}

// HasDefaultCaps reports whether a collection or database has had a default cap since the server started.
func (b *Budgets) HasDefaultCaps() bool { return b.serverShares.capped.Load() }

// LowerCap lowers the cap of a command to the defaults of a collection, of the database whose throughput it shares, and of
// the throughput bucket to which the command belongs by its class and appName. c may be nil.
func (b *Budgets) LowerCap(c *RequestCap, collection uint64, class Class, appName string) {
	if c == nil || c.fixed || !b.serverShares.capped.Load() {
		return
	}
	origin := CapOfCollection
	p := b.Collection(collection)
	group := p.ClassOf(class, appName).Group
	for pool := range p.chain() {
		if d := pool.caps.Load(); d != nil {
			c.Lower(d.pool, origin)
			if group != 0 {
				c.Lower(d.groups[group-1], CapOfBucket)
			}
		}
		origin = CapOfDatabase
	}
}
