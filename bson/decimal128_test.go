package bson

import "testing"

// TestDecimalNotCanonical requires that a decimal with too many digits in its coefficient is also printed as the
// zero that it represents.
func TestDecimalNotCanonical(t *testing.T) {
	d := ComposeDecimal(false, 1<<49-1, 0, -8)
	if got := d.String(); got != "0E-8" || !d.IsZero() {
		t.Errorf("%s, a zero: %v", got, d.IsZero())
	}
}
