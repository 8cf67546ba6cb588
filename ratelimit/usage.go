package ratelimit

// usageSeconds is the length of a bucket's history in seconds.
const usageSeconds = 60

// usage holds the statistics of one bucket: units and refusals for each of the last usageSeconds seconds.
type usage struct {
	begun      int64 // the first second
	second     int64 // the running second
	spent      [usageSeconds]MicroRU
	refused    [usageSeconds]int32
	peersSpent [usageSeconds]MicroRU // units of peers, in the second in which this server received the numbers
	throttled  int64                 // requests refused or queued since start
	total      MicroRU               // units since start
	hour       int64                 // the running hour
	peak       MicroRU               // highest foreground second of the running hour
	peakNow    MicroRU               // foreground units of the running second
	peakLast   MicroRU               // highest second of the hour before
}

func (u *usage) start(second int64) { u.begun, u.second, u.hour = second, second, second/3600 }

// advance moves the statistics to a later second, and clears the slots of the ring for the seconds that have passed
// since.
func (u *usage) advance(second int64) {
	gone := second - u.second
	for i := range min(gone, usageSeconds) {
		s := slotOf(second - i)
		u.spent[s], u.refused[s], u.peersSpent[s] = 0, 0, 0
	}
	u.second, u.peakNow = second, 0
	if hour := second / 3600; hour != u.hour {
		u.peakLast = u.peak
		if hour != u.hour+1 {
			u.peakLast = 0
		}
		u.hour, u.peak = hour, 0
	}
}

func (u *usage) charge(c MicroRU, foreground bool) {
	s := slotOf(u.second)
	u.spent[s] = addSaturating(u.spent[s], c)
	u.total = addSaturating(u.total, c)
	if foreground {
		u.peakNow = addSaturating(u.peakNow, c)
		u.peak = max(u.peak, u.peakNow)
	}
}

// addPeersSpent adds the units that peers used in a second. foreground is the use of all servers in that second
// without requests of the priority Background, for the peak of the hour.
func (u *usage) addPeersSpent(spent, foreground MicroRU) {
	s := slotOf(u.second)
	u.peersSpent[s] = addSaturating(u.peersSpent[s], spent)
	u.peak = max(u.peak, foreground)
}

func (u *usage) countRefusal() {
	u.refused[slotOf(u.second)]++
	u.throttled++
}

// slotOf returns the index of a second in the ring of usageSeconds slots; it is not negative even for a second
// before 1970.
func slotOf(second int64) int64 { return ((second % usageSeconds) + usageSeconds) % usageSeconds }

// BucketStats holds the statistics of one shard, for hot-partition diagnosis.
type BucketStats struct {
	Shard           int
	Limit           MicroRU // its RU/s share; 0 when unlimited
	LastSecond      MicroRU // used in the last complete second
	LastMinute      MicroRU // used in the last 60 seconds, the running one included
	Seconds         int     // of these 60, the seconds since the statistics began; 0 is unknown
	PeersSpent      MicroRU // used at peers in about that time; 0 if unlimited
	Total           MicroRU // used since the server started
	Normalized      int     // busiest second of the last minute in percent of the share, 0..100; 0 when unlimited
	Throttled       int64   // requests refused or queued since the server started
	ThrottledMinute int64   // the same in the last 60 seconds
	Balance         MicroRU // left of the running second; negative is a debt
	BurstCredit     MicroRU // saved for bursts
	Waiting         int     // requests queued for server-side retry
}

// Add adds to s the uses, refusals and waiting requests of the same shard at a peer. Limit is the same at all servers.
// Normalized is the higher of the two, because each server has already added the units of its peers, as far as it has
// received them. PeersSpent, Balance and BurstCredit stay those of s.
func (s *BucketStats) Add(o BucketStats) {
	s.Limit = max(s.Limit, o.Limit)
	s.LastSecond = addSaturating(s.LastSecond, o.LastSecond)
	s.LastMinute = addSaturating(s.LastMinute, o.LastMinute)
	s.Seconds = max(s.Seconds, o.Seconds)
	s.Total = addSaturating(s.Total, o.Total)
	s.Normalized = max(s.Normalized, o.Normalized)
	s.Throttled += o.Throttled
	s.ThrottledMinute += o.ThrottledMinute
	s.Waiting += o.Waiting
}

// stats returns the statistics of a bucket. The caller holds b.mu and has rolled the bucket to the present second.
func (b *Bucket) stats() BucketStats {
	u := &b.use
	s := BucketStats{
		Limit: b.rate, LastSecond: u.spent[slotOf(u.second-1)], Total: u.total, Throttled: u.throttled,
		Balance: b.balance, BurstCredit: b.burstCredit, Waiting: b.queue.len(), Seconds: int(min(usageSeconds, max(1, u.second-u.begun+1))),
	}
	var busiest MicroRU
	for i := range u.spent {
		s.LastMinute = addSaturating(s.LastMinute, u.spent[i])
		s.ThrottledMinute += int64(u.refused[i])
		s.PeersSpent = addSaturating(s.PeersSpent, u.peersSpent[i])
		busiest = max(busiest, u.spent[i]+u.peersSpent[i])
	}
	if b.rate > 0 {
		s.Normalized = int(min(100, scale(int64(busiest), 100, int64(b.rate))))
	}
	return s
}
