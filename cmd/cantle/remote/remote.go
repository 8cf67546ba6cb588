package remote

import (
	"context"
	"errors"
	"strconv"
	"strings"
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
	CommandNotFound  = 59
	DuplicateKey     = 11000
	RequestThrottled = ratelimit.CodeThrottled
)

// Throttled reports whether the server refused a request for lack of request units.
func Throttled(err error) bool { return Code(err) == RequestThrottled }

// RetryAfter returns the time after which the server recommends to send a throttled request again, 0 if the error has
// none. Azure Cosmos DB sends it in the text of the error: "RetryAfterMs=34".
func RetryAfter(err error) time.Duration {
	if !Throttled(err) {
		return 0
	}
	_, after, ok := strings.Cut(err.Error(), "RetryAfterMs=")
	if !ok {
		return 0
	}
	digits, _, _ := strings.Cut(after, ",")
	ms, err := strconv.ParseFloat(strings.TrimSpace(digits), 64) // an account also sends fractions
	if err != nil || ms < 0 || ms > 60_000 {
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
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
