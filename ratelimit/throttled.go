package ratelimit

import (
	"fmt"
	"time"
)

// CodeThrottled is the error code for clients, named TooManyRequests.
const CodeThrottled = 16500

// rateIsLarge is the message text of the service for a throttled request. "No changes were made" refers only to the
// refused statement.
const rateIsLarge = "Request rate is large. More Request Units may be needed, so no changes were made. " +
	"Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429"

// Throttled is a refusal: nothing of the request (or of this one statement of a bulk) was executed.
type Throttled struct {
	ShardID
	Standing
	RetryAfter time.Duration // a retry after this time is expected to succeed if there are no other requests
}

// RetryAfterMs returns RetryAfter in whole milliseconds, rounded up and at least 1.
func (t *Throttled) RetryAfterMs() int64 {
	return max(1, int64((t.RetryAfter+time.Millisecond-1)/time.Millisecond))
}

// Error returns Message.
func (t *Throttled) Error() string { return t.Message() }

// Message returns the text of a refused command.
func (t *Throttled) Message() string {
	return fmt.Sprintf("Error=%d, RetryAfterMs=%d, Details='Response status code does not indicate success: "+
		"TooManyRequests (429); Substatus: 3200; Reason: (%s)'", CodeThrottled, t.RetryAfterMs(), rateIsLarge)
}

// WriteMessage returns the text for a refused statement of a bulk write, as the service sends it in writeErrors.
func (t *Throttled) WriteMessage() string {
	return fmt.Sprintf("Error=%d, RetryAfterMs=%d, Details='Response status code does not indicate success: "+
		`TooManyRequests (429); Substatus: 3200; Reason: ({ "Errors": [ "%s" ] });`,
		CodeThrottled, t.RetryAfterMs(), rateIsLarge)
}
