package data

import "testing"

// TestChargers checks that a getMore finds the charge of each kind of cursor that reads documents.
func TestChargers(t *testing.T) {
	for _, source := range []any{(*streamSource)(nil), (*tailSource)(nil), (*changeSource)(nil)} {
		if _, ok := source.(charger); !ok {
			t.Errorf("%T reports no charge", source)
		}
	}
}
