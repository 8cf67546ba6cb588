// Package records reads documents from files: Extended JSON, and tables whose lines become documents.
package records

import (
	"errors"

	"github.com/cantledb/cantle/bson"
)

// Reader returns the documents of a file. Errors: io.EOF at the end; ErrSkipped for a line to leave out.
type Reader interface {
	Next() (bson.Raw, error)
}

// ErrSkipped: a line is not a document, and reading can continue.
var ErrSkipped = errors.New("skipped")
