package tikvkv

import "time"

// settings holds what does not change while a store is open; the objects of the store share it.
type settings struct {
	o        Options
	keys     layout
	limits   limits
	hasClock bool // the options have a clock
}

// limits are timeouts and similar durations; tests use shorter ones.
type limits struct {
	read    time.Duration  // timeout of a read
	commit  time.Duration  // timeout of a commit; the client itself retries for 80 s
	settle  time.Duration  // timeout for finding out the outcome of a commit
	most    int            // by which factor these timeouts are extended while the cluster answers other requests
	reader  time.Duration  // for how long an open reader can hold the safe point back
	open    time.Duration  // for how long a step of opening the store is retried
	latch   time.Duration  // how long a latch may outlast its commit; locks on keys not committed by then are left to the next writer
	windows [classes]int64 // by how many milliseconds the commit time may be after the place, per class
}

// defaultLimits are the limits of a server.
var defaultLimits = limits{
	read: 8 * time.Second, commit: 10 * time.Second, settle: 10 * time.Second, most: 3, reader: time.Hour, open: 30 * time.Second, latch: time.Second,
	windows: [classes]int64{classSmall: 5_000, classLarge: 60_000},
}
