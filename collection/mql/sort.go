package mql

import (
	"slices"

	"github.com/cantledb/cantle/bson"
)

// Sort sorts s by cmp; equal elements keep their order. If the command must end meanwhile, the resulting order is
// undefined. Errors: the context's cause.
func Sort[E any](e *Env, s []E, cmp func(a, b E) int) (err error) {
	slices.SortStableFunc(s, func(a, b E) int {
		if err == nil {
			err = e.Tick()
		}
		if err != nil {
			return 0
		}
		return cmp(a, b)
	})
	return err
}

// SortValues sorts values like Sort, in the BSON order with the command's collation, descending if sign is -1.
func SortValues(e *Env, s []bson.Value, sign int) (err error) {
	o := e.Order()
	slices.SortStableFunc(s, func(a, b bson.Value) int {
		if err == nil {
			err = e.Spend(tickBytes + min(len(a.Data), len(b.Data)))
		}
		if err != nil {
			return 0
		}
		return sign * bson.Compare(a, b, o)
	})
	return err
}
