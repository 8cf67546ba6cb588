package remote

import (
	"context"
	"errors"
	"iter"
	"regexp"
	"strconv"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
)

// Run runs one command in a database, and returns the reply, also that of an error. It is safe for concurrent use.
// Errors: an Error of the server, also for the first of the reply's writeErrors; errors of the connection.
type Run func(ctx context.Context, db string, command bson.Raw) (bson.Raw, error)

// Error is an error of the server.
type Error struct {
	Code    int32
	Message string
}

func (e *Error) Error() string { return e.Message }

// Code returns the code of a server's error, 0 for another error.
func Code(err error) int32 {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// Codes of errors that verbs handle.
const (
	AuthenticationFailed = 18
	CommandNotFound      = 59
	RequestUnitsExceeded = 8253
	DuplicateKey         = 11000
	RequestThrottled     = ratelimit.CodeThrottled
)

// Throttled reports whether the server refused a request for lack of request units.
func Throttled(err error) bool { return Code(err) == RequestThrottled }

// retryAfterMax is the maximum of RetryAfter.
const retryAfterMax = time.Minute

// retryAfter finds the time in the text of a refusal. Azure Cosmos DB also sends fractions of milliseconds.
var retryAfter = regexp.MustCompile(`RetryAfterMs=([0-9]+(?:\.[0-9]+)?)`)

// RetryAfter returns the time after which a server recommends to send a throttled request again, from the text of the
// refusal, at most a minute. ok is false if the text has none. Azure Cosmos DB sends it as "RetryAfterMs=34".
func RetryAfter(text string) (after time.Duration, ok bool) {
	m := retryAfter.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	ms, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	return time.Duration(min(ms, float64(retryAfterMax.Milliseconds())) * float64(time.Millisecond)), true
}

// Pause waits for a duration, or until ctx ends, and then returns the error of ctx.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// FirstBatch returns the documents of a cursor's first batch.
func FirstBatch(reply bson.Raw) iter.Seq[bson.Raw] {
	cursor, _ := reply.Get("cursor").Doc()
	list, _ := cursor.Get("firstBatch").Array()
	return func(yield func(bson.Raw) bool) {
		for v := range list.Values() {
			if d, ok := v.Doc(); ok && !yield(d) {
				return
			}
		}
	}
}

// First returns the first document of a cursor's first batch; ok is false if it is empty.
func First(reply bson.Raw) (doc bson.Raw, ok bool) {
	for d := range FirstBatch(reply) {
		return d, true
	}
	return nil, false
}

// WriteError returns the first of the errors in a reply's writeErrors, nil if there are none.
func WriteError(reply bson.Raw) error {
	list, _ := reply.Get("writeErrors").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		code, _ := d.Get("code").AsInt64()
		text, _ := d.Get("errmsg").Str()
		return &Error{int32(code), text}
	}
	return nil
}
