package expr

import (
	"math/big"
	"strings"

	"github.com/cantledb/cantle/bson"
)

// parseInBase parses a string of at most digitsMax bytes as an integer in a base, with an optional sign.
//
// Errors: ConversionFailure.
func parseInBase(v bson.Value, base int) (*big.Int, error) {
	text, _ := v.Str()
	n, ok := new(big.Int).SetString(text, base)
	if !ok || len(text) > digitsMax || strings.IndexByte(text, '_') >= 0 {
		return nil, failed("Failed to parse number %s in base %d", show(v), base)
	}
	return n, nil
}

// digitsMax is the maximal length of a number in text: numbers with more digits fit into no double or decimal.
const digitsMax = 1 << 15

// printInBase prints an integral number with upper-case digits.
//
// Errors: ConversionFailure.
func printInBase(s *Scratch, v bson.Value, base int) (bson.Value, error) {
	r, ok := new(big.Rat).SetString(string(appendText(nil, v)))
	if !ok || !r.IsInt() {
		return v, failed("Only integers convert to a string in base %d, not %s", base, show(v))
	}
	return s.String(strings.ToUpper(r.Num().Text(base))), nil
}
