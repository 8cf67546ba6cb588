package console

import (
	"context"
	"fmt"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/skew"
	"github.com/cantledb/cantle/wire/command"
)

// Commands of the console pay from the allowance of operators (ratelimit.OperatorRUs), so no budget refuses them. A user
// without the privilege for the allowance pays from the collection's budget: then the console waits and tries again.

// throttledPatience is the longest time for which the console repeats a command that the server refuses for lack of
// request units.
const throttledPatience = 20 * time.Second

// pause waits for the time that a refusal names. It returns false at once if the wait would end after
// throttledPatience, counted from began, and after the end of ctx.
func pause(ctx context.Context, refusal bson.Raw, began time.Time) bool {
	ms, _ := refusal.Get("retryAfterMs").TruncInt64()
	wait := max(time.Millisecond, time.Duration(ms)*time.Millisecond)
	if time.Since(began)+wait > throttledPatience {
		return false
	}
	return command.Wait(ctx, wait) == nil
}

// throttled returns the error of a command that the server refused for lack of request units. tries is the number of refusals.
func throttled(tries int, took time.Duration) error {
	return mongoerr.New(ratelimit.CodeThrottled, "The request units of the collection are used up: the server refused this %s in %s. "+
		"Try again when there is less load, or raise the throughput. For users with the role clusterMonitor the console reads outside of the budget.", times(tries), skew.Duration(int64(took.Seconds()+0.5)))
}

// times prints how often something happened.
func times[N ~int | ~int64](n N) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
