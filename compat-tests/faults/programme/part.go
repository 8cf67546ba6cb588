package programme

import (
	"fmt"
	"time"

	"github.com/cantledb/cantle/internal/testenv"
)

// Part is one of Of equal parts of the work of a column, with Number from 1. Several test runs, one after the
// other or at the same time, can each do a part.
type Part struct{ Number, Of int }

// ParsePart parses the text of a part, such as "2/8"; "" is the whole. Errors: the text has another form.
func ParsePart(text string) (Part, error) {
	if text == "" {
		return Part{1, 1}, nil
	}
	var p Part
	if n, err := fmt.Sscanf(text, "%d/%d", &p.Number, &p.Of); err != nil || n != 2 || p.Number < 1 || p.Number > p.Of || p.String() != text {
		return Part{}, fmt.Errorf("%q is not a part as 2/8 is one", text)
	}
	return p, nil
}

// Split divides the part into n equal parts and returns the k-th, counted from 1.
func (p Part) Split(k, n int) Part { return Part{(p.Number-1)*n + k, p.Of * n} }

// String returns the part in the form of ParsePart.
func (p Part) String() string { return fmt.Sprintf("%d/%d", p.Number, p.Of) }

// Variable returns the part as a setting of the environment variable CANTLE_PART, for a child process.
func (p Part) Variable() string { return testenv.SetPart(p.String()) }

// of returns the part's share of n.
func (p Part) of(n int) int { return n*p.Number/p.Of - n*(p.Number-1)/p.Of }

// Of returns the part's share of a list.
func Of[T any](p Part, list []T) []T {
	return list[len(list)*(p.Number-1)/p.Of : len(list)*p.Number/p.Of]
}

func thisPart() (Part, error) { return ParsePart(testenv.Part()) }

// FirstSeed returns a seed made of the time and the part: runs that start a second apart, and runs of different
// parts, share none of the million seeds from it on.
func FirstSeed() uint64 {
	part, _ := thisPart() // Amount reports the error
	return uint64(time.Now().UnixMicro()) + uint64(part.Number)<<40
}
