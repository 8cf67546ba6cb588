package wire

import (
	"errors"
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// ErrFrame marks the error of bytes after which the connection cannot continue: a wrong length, a broken section, an
// illegal flag, a broken compressed body. The server closes the connection without an answer.
var ErrFrame = errors.New("broken message")

// ErrHTTP is the error of Reader.Read for a client that uses HTTP, such as a browser. The server answers with
// HTTPAnswer and closes the connection.
var ErrHTTP = errors.New("HTTP request on a MongoDB port")

// HTTPAnswer is the answer to a browser on a MongoDB port: MongoDB's sentence, which people
// search for.
const HTTPAnswer = "HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 84\r\n\r\n" +
	"It looks like you are trying to access MongoDB over HTTP on the native driver port.\n"

// broken returns an ErrFrame.
func broken(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFrame}, args...)...)
}

// documentError converts an error of bson.Parse, for a document of a request, into the error that the client gets.
func documentError(err error) *mongoerr.Error {
	switch {
	case errors.Is(err, bson.ErrTooDeep):
		return mongoerr.New(mongoerr.Overflow, "BSONObj exceeded maximum nested object depth: %d", bson.MaxDepth)
	case errors.Is(err, bson.ErrTooLarge):
		return mongoerr.New(mongoerr.BSONObjectTooLarge, "%v", err)
	}
	return mongoerr.New(mongoerr.InvalidBSON, "%v", err)
}
