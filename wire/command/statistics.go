package command

import (
	"sync/atomic"

	"github.com/cantledb/cantle/ratelimit"
)

// Statistics holds counters of all commands since the start, which serverStatus shows. Insert counts documents;
// Update and Delete count statements.
type Statistics struct {
	Insert, Query, Update, Delete, Getmore, Command atomic.Int64
	Returned, Loaded                                atomic.Int64 // documents sent; documents read to find them
	BytesIn, BytesOut, Requests, Unknown            atomic.Int64
	TimedOut                                        atomic.Int64            // commands that a time limit has ended
	Runaways                                        ratelimit.RunawayCounts // commands that reached their cap, by action
	Refused                                         ratelimit.LimitCounters // documents and statements refused, in the order of ratelimit.Limits
	Awaiting                                        atomic.Int32            // awaitable hellos that are waiting now
	Changes                                         ChangeCounts
}
