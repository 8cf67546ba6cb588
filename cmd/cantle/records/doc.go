// Package records reads the documents of an import from files: Extended JSON, or tables (CSV, TSV) whose lines become
// documents.
package records

import (
	"errors"

	"github.com/cantledb/cantle/bson"
)

// Reader reads the documents of a file, one with each call of Next.
// Errors: io.EOF at the end; ErrSkipped for a line to leave out.
type Reader interface {
	Next() (bson.Raw, error)
}

// ErrSkipped: a line is not a document, and reading can continue.
var ErrSkipped = errors.New("skipped")
