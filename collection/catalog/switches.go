package catalog

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/shard"
)

// Switch is a setting that a collection may leave to the server's default.
type Switch uint8

// The values of a Switch.
const (
	Inherit Switch = iota
	On
	Off
)

// Or returns the setting, or standard, the server's default, for Inherit.
func (s Switch) Or(standard bool) bool {
	if s == Inherit {
		return standard
	}
	return s == On
}

// SwitchOf returns On or Off.
func SwitchOf(on bool) Switch {
	if on {
		return On
	}
	return Off
}

// BucketsMax is the maximum number of throughput buckets of a collection or database.
const BucketsMax = 5

// Switches configure how throughput is distributed.
type Switches struct {
	// ServerSideRetry makes requests wait for request units instead of
	// failing. Source: Azure Cosmos DB, "prevent-rate-limiting-errors".
	ServerSideRetry Switch
	// Burst accumulates unused units. Source: Azure Cosmos DB, "burst-capacity".
	Burst Switch
	// PerMinute is an add-on that Azure Cosmos DB had in 2017: it adds ten times the RU/s for each minute.
	PerMinute Switch
	// Buckets limit groups of clients to a part of the RU/s. Source: Azure Cosmos DB,
	// "throughput-buckets".
	Buckets [BucketsMax]Bucket
	// RequestMax is the default maximum of a command, in millionths of a request unit; 0 is none, in a change it leaves
	// the setting, and -1 removes it.
	RequestMax int64
	// Tenants are the limits of tenants, of a collection only; nil is none, in a change it leaves the setting, and one
	// without fields removes it.
	Tenants *Tenants
}

// Bucket is one throughput bucket; Percent 0 means none. See Switches.With.
type Bucket struct {
	Percent    int32
	AppName    string // of the clients that the bucket limits
	RequestMax int64  // as Switches.RequestMax, of a command of the bucket; 0 is none
}

// Share is the part of a collection's RU/s assigned to one shard.
type Share struct {
	Shard shard.ID
	RU    int64
}

// With returns the switches after a change. Settings that the change leaves at Inherit stay. If the change has
// buckets, they replace all; a bucket with a Percent of 0 or less is removed.
func (s Switches) With(change Switches) Switches {
	for _, x := range [...]struct{ to, from *Switch }{
		{&s.ServerSideRetry, &change.ServerSideRetry}, {&s.Burst, &change.Burst}, {&s.PerMinute, &change.PerMinute},
	} {
		if *x.from != Inherit {
			*x.to = *x.from
		}
	}
	if change.RequestMax != 0 {
		s.RequestMax = max(0, change.RequestMax)
	}
	if change.Tenants != nil {
		if s.Tenants = change.Tenants; len(change.Tenants.Prefix) == 0 {
			s.Tenants = nil
		}
	}
	if change.Buckets != ([BucketsMax]Bucket{}) {
		s.Buckets = change.Buckets
		for i, b := range s.Buckets {
			if b.Percent <= 0 {
				s.Buckets[i] = Bucket{}
			}
		}
	}
	return s
}

func (s Switches) append(b *bson.Builder) {
	if s == (Switches{}) {
		return
	}
	b.BeginDoc("switches")
	b.Int64("retry", int64(s.ServerSideRetry))
	b.Int64("burst", int64(s.Burst))
	b.Int64("minute", int64(s.PerMinute))
	if s.RequestMax != 0 {
		b.Int64("requestMax", s.RequestMax)
	}
	if s.Tenants != nil {
		s.Tenants.append(b)
	}
	b.BeginArray("buckets")
	for _, k := range s.Buckets {
		b.BeginDoc("")
		b.Int64("percent", int64(k.Percent))
		b.String("app", k.AppName)
		if k.RequestMax != 0 {
			b.Int64("requestMax", k.RequestMax)
		}
		b.End()
	}
	b.End()
	b.End()
}

func decodeSwitches(throughput bson.Raw) (s Switches) {
	d, ok := throughput.Get("switches").Doc()
	if !ok {
		return s
	}
	s.ServerSideRetry, s.Burst, s.PerMinute = Switch(number(d, "retry")), Switch(number(d, "burst")), Switch(number(d, "minute"))
	s.RequestMax, s.Tenants = number(d, "requestMax"), decodeTenants(d)
	list, _ := d.Get("buckets").Array()
	it := list.Iter()
	for i := range s.Buckets {
		if !it.Next() {
			break
		}
		k, _ := it.Value.Doc()
		s.Buckets[i] = Bucket{int32(number(k, "percent")), text(k, "app"), number(k, "requestMax")}
	}
	return s
}

func appendShares(b *bson.Builder, shares []Share) {
	if len(shares) == 0 {
		return
	}
	b.BeginArray("shares")
	for _, s := range shares {
		b.BeginDoc("")
		b.Int64("shard", int64(s.Shard))
		b.Int64("ru", s.RU)
		b.End()
	}
	b.End()
}

func decodeShares(r bson.Raw) (shares []Share) {
	list, _ := r.Get("shares").Array()
	for it := list.Iter(); it.Next(); {
		d, _ := it.Value.Doc()
		shares = append(shares, Share{shard.ID(number(d, "shard")), number(d, "ru")})
	}
	return shares
}
