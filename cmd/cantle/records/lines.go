package records

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// recordLimit is the input of a CSV reader. It fails if one record, perhaps of several lines, is longer than max bytes,
// so that a file without ends of lines, or with a quote that nothing closes, does not fill the memory.
type recordLimit struct {
	in   io.Reader
	max  int
	read int // bytes since the last record; the reader of records sets it to 0
}

// lineError is the error of a line that is longer than its value, in bytes.
type lineError int

func (e lineError) Error() string { return fmt.Sprintf("the line has more than %d MB", e>>20) }

// Read implements io.Reader.
func (l *recordLimit) Read(p []byte) (int, error) {
	if l.read > l.max {
		return 0, lineError(l.max)
	}
	n, err := l.in.Read(p)
	l.read += n
	return n, err
}

// quoteError rewords an error of a CSV reader about quotes. It returns other errors unchanged.
func quoteError(err error) error {
	var wrong *csv.ParseError
	if !errors.As(err, &wrong) {
		return err
	}
	switch {
	case errors.Is(err, csv.ErrBareQuote):
		return fmt.Errorf("line %d: a quote in a cell that does not begin with one: put quotes around the cell, and write each quote in it twice", wrong.Line)
	case errors.Is(err, csv.ErrQuote):
		return fmt.Errorf("line %d: the quote that begins a cell in line %d is not closed before a comma or an end of line: close it, and write each quote in the cell twice", wrong.Line, wrong.StartLine)
	}
	return err
}

// tsvLine returns the next line of a TSV file, without its end.
// Errors: io.EOF; a line that is too long; errors of the input.
func (t *tableRecords) tsvLine() (string, error) {
	t.lines++
	var long []byte
	for {
		part, err := t.tsv.ReadSlice('\n')
		switch {
		case len(long)+len(part) > t.lineMax:
			return "", fmt.Errorf("line %d: %w", t.lines, lineError(t.lineMax))
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, part...)
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(long)+len(part) == 0):
			return "", err
		}
		return strings.TrimRight(string(append(long, part...)), "\r\n"), nil
	}
}
