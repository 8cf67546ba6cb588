package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var dateTruncSignature = &signature{
	fields: []field{{name: "date", missing: 5439009}, {name: "unit", missing: 5439010}, {name: "binSize"},
		{name: "timezone"}, {name: "startOfWeek"}},
	notObject: 5439007, unknown: 5439008, check: checkDateTrunc,
}

// checkDateTrunc removes the argument startOfWeek of $dateTrunc if it has no effect (the unit is not a week) and all
// arguments are constant. Observed: a null startOfWeek makes the result null only if another argument varies.
func checkDateTrunc(_ *parser, args []Expr) error {
	for _, e := range args {
		if e != nil {
			if _, ok := IsConstant(e); !ok {
				return nil
			}
		}
	}
	u, _ := IsConstant(args[1])
	if name, ok := u.Str(); ok && name != "week" {
		args[4] = nil
	}
	return nil
}

// dateTrunc is $dateTrunc: it returns the beginning of the bin of time that contains a date. Bins, such as of
// two weeks, are counted from 2000-01-01 on the local clock.
func dateTrunc(_ *mql.Env, s *Scratch, a []bson.Value, g given) (bson.Value, error) {
	const op = "$dateTrunc"
	if a[0].IsNullish() || a[1].IsNullish() || g.has(2) && a[2].IsNullish() {
		return bson.Null, nil
	}
	u, err := unitOf(op, a[1])
	if err != nil {
		return a[1], err
	}
	size := int64(1)
	if g.has(2) {
		var ok bool
		if size, ok = a[2].AsInt64(); !ok {
			return a[2], mongoerr.New(5439017, "%s requires 'binSize' to be a 64-bit integer, but got value '%s' of type %s", op, show(a[2]), a[2].Type)
		}
		if size <= 0 {
			return a[2], mongoerr.New(5439018, "%s requires 'binSize' to be greater than 0, but got value %d", op, size)
		}
	}
	first := int64(7)
	if g.has(4) && a[4].IsNullish() {
		return bson.Null, nil
	}
	if g.has(4) && u == unitWeek {
		if first, err = weekStart(op, a[4]); err != nil {
			return a[4], err
		}
	}
	z, ok, err := s.zoneArg(a[3], g.has(3))
	if err != nil || !ok {
		return bson.Null, err
	}
	ms, ok := dateOfValue(a[0])
	if !ok {
		return a[0], mongoerr.New(5166307, "%s requires 'date' to be a date, but got %s", op, a[0].Type)
	}
	out, err := truncate(ms, u, size, z, first)
	if err != nil {
		return a[0], err
	}
	return s.DateTime(out), nil
}

// referenceDay is 2000-01-01, a Saturday.
const referenceDay = 10957

// truncate returns the beginning of the bin of size units that contains the instant ms, in a time zone.
// firstDay is the first day of a week, 1 for Monday to 7.
func truncate(ms int64, u unit, size int64, z *zone, firstDay int64) (int64, error) {
	tooLarge := func(code mongoerr.Code) error {
		return mongoerr.New(code, "'binSize' value %d is too large for the unit %s", size, unitNames[u])
	}
	switch u {
	case unitYear, unitQuarter, unitMonth:
		months, ok := MultiplyInt64(size, [...]int64{12, 3, 1}[u])
		if !ok || u == unitYear && months > spanMonths*100 {
			return 0, tooLarge([...]mongoerr.Code{5439006, 5439005, 5439005}[u])
		}
		c := civilOf(z.local(ms))
		n := (c.year-2000)*12 + c.month - 1
		n = floorDiv(n, months) * months
		return z.instant(daysOf(2000+floorDiv(n, 12), floorMod(n, 12)+1, 1) * msPerDay), nil
	case unitWeek, unitDay:
		days, reference := size, int64(referenceDay)
		if u == unitWeek {
			var ok bool
			if days, ok = MultiplyInt64(size, 7); !ok {
				return 0, tooLarge(5439000)
			}
			reference += (firstDay - 6 + 7) % 7
		}
		n := floorDiv(z.local(ms), msPerDay) - reference
		local, ok := MultiplyInt64(floorDiv(n, days)*days+reference, msPerDay)
		if !ok {
			return 0, tooLarge(5439001)
		}
		return z.instant(local), nil
	}
	bin, ok := MultiplyInt64(size, millis[u])
	if !ok {
		return 0, tooLarge([...]mongoerr.Code{unitHour: 5439002, unitMinute: 5439003, unitSecond: 5439004, unitMillisecond: 5439004}[u])
	}
	reference := z.instant(referenceDay * msPerDay)
	return floorDiv(ms-reference, bin)*bin + reference, nil
}
