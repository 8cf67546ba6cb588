// Package records reads documents out of files: Extended JSON, and tables whose lines become
// documents.
package records

import (
	"errors"

	"github.com/cantledb/cantle/bson"
)

// Reader yields the documents of a file. Errors: io.EOF at the end; ErrSkipped for one to
// leave out.
type Reader interface {
	Next() (bson.Raw, error)
}

// ErrSkipped: a line is no document, and the rest can be read.
var ErrSkipped = errors.New("skipped")
