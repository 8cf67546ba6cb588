package wire

import (
	"errors"
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// ErrFrame marks bytes after which the connection cannot continue: a broken length or
// section, an illegal flag, a broken compressed body. The connection closes without an
// answer.
var ErrFrame = errors.New("broken message")

// ErrHTTP marks a client that uses HTTP. The server answers with HTTPAnswer and closes.
var ErrHTTP = errors.New("HTTP request on a MongoDB port")

// HTTPAnswer is the answer to a browser on a MongoDB port: MongoDB's sentence, which people
// search for.
const HTTPAnswer = "HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 84\r\n\r\n" +
	"It looks like you are trying to access MongoDB over HTTP on the native driver port.\n"

// broken returns an ErrFrame.
func broken(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFrame}, args...)...)
}

// documentError translates an error of bson.Parse about a document of a request.
func documentError(err error) *mongoerr.Error {
	switch {
	case errors.Is(err, bson.ErrTooDeep):
		return mongoerr.New(mongoerr.Overflow, "BSONObj exceeded maximum nested object depth: %d", bson.MaxDepth)
	case errors.Is(err, bson.ErrTooLarge):
		return mongoerr.New(mongoerr.BSONObjectTooLarge, "%v", err)
	}
	return mongoerr.New(mongoerr.InvalidBSON, "%v", err)
}
