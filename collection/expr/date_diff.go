package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var dateDiffSignature = &signature{
	fields: []field{{name: "startDate", missing: 5166303}, {name: "endDate", missing: 5166304}, {name: "unit", missing: 5166305},
		{name: "timezone"}, {name: "startOfWeek"}},
	notObject: 5166301, unknown: 5166302,
}

// dateDiff is $dateDiff: it counts the boundaries of a unit, such as midnights, between two instants; the count is
// negative or 0 if the end is earlier.
func dateDiff(_ *mql.Env, s *Scratch, a []bson.Value, g given) (bson.Value, error) {
	const op = "$dateDiff"
	if a[0].IsNullish() || a[1].IsNullish() || a[2].IsNullish() {
		return bson.Null, nil
	}
	u, err := unitOf(op, a[2])
	if err != nil {
		return a[2], err
	}
	first := int64(7)
	if g.has(4) && u == unitWeek {
		if a[4].IsNullish() {
			return bson.Null, nil
		}
		if first, err = weekStart(op, a[4]); err != nil {
			return a[4], err
		}
	}
	z, ok, err := s.zoneArg(a[3], g.has(3))
	if err != nil || !ok {
		return bson.Null, err
	}
	var at [2]int64
	for i, name := range [2]string{"startDate", "endDate"} {
		if at[i], ok = dateOfValue(a[i]); !ok {
			return a[i], mongoerr.New(5166307, "%s requires '%s' to be a date, but got %s", op, name, a[i].Type)
		}
	}
	n, ok := diffUnits(at[0], at[1], u, z, first)
	if !ok {
		return a[0], mongoerr.New(5166308, "dateDiff overflowed")
	}
	return s.Int64(n), nil
}

// diffUnits returns the number of unit boundaries from one instant to another, in a time zone; false if the
// number overflows. firstDay is the first day of a week, 1 for Monday to 7.
func diffUnits(from, to int64, u unit, z *zone, firstDay int64) (int64, bool) {
	x, y := z.local(from), z.local(to)
	switch u {
	case unitYear:
		return civilOf(y).year - civilOf(x).year, true
	case unitQuarter, unitMonth:
		per := int64(1)
		if u == unitQuarter {
			per = 3
		}
		c, d := civilOf(x), civilOf(y)
		return (d.year*12+d.month-1)/per - (c.year*12+c.month-1)/per, true
	case unitWeek:
		// Day 0 was a Thursday, ISO day 4.
		shift := 4 - firstDay
		return floorDiv(floorDiv(y, msPerDay)+shift, 7) - floorDiv(floorDiv(x, msPerDay)+shift, 7), true
	case unitDay:
		return floorDiv(y, msPerDay) - floorDiv(x, msPerDay), true
	case unitHour:
		return floorDiv(y, msPerHour) - floorDiv(x, msPerHour) - (z.offsetAt(to)-z.offsetAt(from))/3600, true
	case unitMillisecond:
		diff := to - from
		return diff, (diff < to) == (from > 0) || from == 0
	}
	return floorDiv(to, millis[u]) - floorDiv(from, millis[u]), true
}
