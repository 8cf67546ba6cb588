package ratelimit

import (
	"slices"
	"sync/atomic"
)

// Limit is the budget that refused a request. The text is the value of errInfo.throttle.limit.
type Limit string

// The budgets that refuse requests.
const (
	PartitionLimit Limit = "partition" // the RU/s of one partition of the collection
	DatabaseLimit  Limit = "database"  // the RU/s of one partition of the database's shared throughput
	BucketLimit    Limit = "bucket"    // the part of a partition that a throughput bucket may use
	PriorityLimit  Limit = "priority"  // what requests of low priority leave to others
	QueueLimit     Limit = "queue"     // the number of requests that wait under server-side retry
	MetadataLimit  Limit = "metadata"  // the RU/s of commands that read or change the catalog
	InjectedLimit  Limit = "injected"  // a refusal that a test injected
	TenantLimit    Limit = "tenant"    // the part of a partition that a tenant may use
)

// Limits lists all limits. The stored history uses their order: a new one is the last.
var Limits = [...]Limit{PartitionLimit, DatabaseLimit, BucketLimit, PriorityLimit, QueueLimit, MetadataLimit, InjectedLimit, TenantLimit}

// LimitCounts counts refused documents or statements by the limit that refused them, in the order of Limits.
type LimitCounts [len(Limits)]int64

// Count adds a refusal by a limit; an unknown one counts as InjectedLimit.
func (n *LimitCounts) Count(l Limit) {
	at := slices.Index(Limits[:], l)
	if at < 0 {
		at = slices.Index(Limits[:], InjectedLimit)
	}
	n[at]++
}

// Add adds the counts of o.
func (n *LimitCounts) Add(o *LimitCounts) {
	for i := range n {
		n[i] += o[i]
	}
}

// Sum returns the number of refusals by all limits.
func (n *LimitCounts) Sum() (sum int64) {
	for _, x := range n {
		sum += x
	}
	return sum
}

// LimitCounters are LimitCounts that several goroutines increment.
type LimitCounters [len(Limits)]atomic.Int64

// Add adds the counts of o.
func (n *LimitCounters) Add(o *LimitCounts) {
	for i, x := range o {
		if x > 0 {
			n[i].Add(x)
		}
	}
}

// Standing is the state of the budget that refused a request, at the time of the refusal.
type Standing struct {
	Limit
	Rate    MicroRU // RU/s that the budget has for this request at this server; 0 if the limit has no rate
	Balance MicroRU // left of this second; negative is a debt of requests that ran
}

// standing returns the bucket's state as it applies to a class of requests. The caller has rolled the bucket, and holds b.mu.
func (b *Bucket) standing(c Class) Standing {
	if c.Group > 0 && c.Group <= GroupsMax {
		if g := &b.groups[c.Group-1]; g.rate > 0 && g.balance <= 0 && b.balance > 0 {
			return Standing{BucketLimit, g.rate, g.balance}
		}
	}
	if t := b.tenant(c); t != nil && t.limits.Max > 0 && t.room <= 0 && b.balance > 0 {
		return Standing{TenantLimit, t.rate, t.room}
	}
	if b.balance > 0 && c.Priority != High {
		return Standing{PriorityLimit, b.share, b.balance}
	}
	return Standing{PartitionLimit, b.share, b.balance}
}
