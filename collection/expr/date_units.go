package expr

import (
	"slices"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

// DateUnit is a unit of time such as a day, for stages that step through dates in UTC: $densify,
// $setWindowFields.
type DateUnit struct {
	u       unit
	release release.Release // release whose semantics apply
}

// DateUnitOf returns a unit by its name ("day").
//
// Errors: FailedToParse.
func DateUnitOf(env *mql.Env, name string) (DateUnit, error) {
	i := slices.Index(unitNames[:], name)
	if i < 0 {
		return DateUnit{}, mongoerr.New(mongoerr.FailedToParse, "unknown time unit value: %s", name)
	}
	return DateUnit{unit(i), env.Release}, nil
}

// String returns the unit's name.
func (d DateUnit) String() string { return unitNames[d.u] }

// Millis returns the length of the unit in milliseconds; 0 for months and longer units, whose length varies.
func (d DateUnit) Millis() int64 { return millis[d.u] }

// Add adds n units to an instant in milliseconds.
//
// Errors: the errors of $dateAdd for a result out of range; op is the operator that they name.
func (d DateUnit) Add(op string, ms, n int64) (int64, error) {
	return addUnits(d.release, op, ms, d.u, n, utc)
}
