package bson

import "testing"

// A decimal whose coefficient has too many digits is the zero that it reads as, when it is printed too.
func TestDecimalNotCanonical(t *testing.T) {
	d := ComposeDecimal(false, 1<<49-1, 0, -8)
	if got := d.String(); got != "0E-8" || !d.IsZero() {
		t.Errorf("%s, a zero: %v", got, d.IsZero())
	}
}
