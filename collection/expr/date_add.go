package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

var dateAddSignature = &signature{
	fields:    []field{{name: "startDate", missing: 5166402}, {name: "unit", missing: 5166402}, {name: "amount", missing: 5166402}, {name: "timezone"}},
	notObject: 5166400, unknown: 5166401,
}

// dateAdd returns the functions of $dateAdd (sign 1) and $dateSubtract (sign -1).
func dateAdd(op string, sign int64) namedFunction {
	return func(env *mql.Env, s *Scratch, a []bson.Value, g given) (bson.Value, error) {
		if a[0].IsNullish() || a[1].IsNullish() || a[2].IsNullish() || g.has(3) && a[3].IsNullish() {
			return bson.Null, nil
		}
		ms, ok := dateOfValue(a[0])
		if !ok {
			return a[0], mongoerr.New(5166403, "%s requires startDate to be convertible to a date", op)
		}
		u, err := unitOf(op, a[1])
		if err != nil {
			return a[1], err
		}
		n, ok := a[2].AsInt64()
		if !ok {
			return a[2], mongoerr.New(5166405, "%s expects integer amount of time units", op)
		}
		z, ok, err := s.zoneArg(a[3], g.has(3))
		if err != nil || !ok {
			return bson.Null, err
		}
		if sign < 0 && n == -n && n != 0 {
			return a[2], mongoerr.New(6045000, "invalid %s 'amount' parameter value: %d", op, n)
		}
		out, err := addUnits(env.Release, op, ms, u, n*sign, z)
		if err != nil {
			return a[0], err
		}
		return s.DateTime(out), nil
	}
}

// spanMonths is the number of months in the range of dates.
const spanMonths = 584554049 * 12

// addUnits adds n units to the instant ms (milliseconds since 1970) in a time zone, with the semantics of a
// release: days and longer units on the local clock, hours and smaller units in real time.
func addUnits(r release.Release, op string, ms int64, u unit, n int64, z *zone) (int64, error) {
	out, err := addWhole(op, ms, u, n, z)
	if ms < 0 && ms%msPerSecond != 0 && u != unitMillisecond && !r.Has(release.EarlySums) {
		out -= msPerSecond // older releases subtract the fraction of a second twice
	}
	return out, err
}

// addWhole computes addUnits with the correct result, which newer releases return.
func addWhole(op string, ms int64, u unit, n int64, z *zone) (int64, error) {
	overflow := mongoerr.New(5166406, "%s overflowed", op)
	large := mongoerr.New(5976500, "invalid %s 'amount' parameter value: %d %s", op, n, unitNames[u])
	switch u {
	case unitYear, unitQuarter, unitMonth:
		months := [...]int64{12, 3, 1}[u]
		if n > spanMonths/months || n < -spanMonths/months {
			return 0, large
		}
		local := z.local(ms)
		out := addMonths(local, n*months)
		// Beyond the range of dates, the arithmetic overflows.
		if (out > local) != (n > 0) && n != 0 {
			return 0, overflow
		}
		year := civilOf(local).year + floorDiv(civilOf(local).month-1+n*months, 12)
		if civilOf(out).year != year {
			return 0, overflow
		}
		return z.instant(out), nil
	}
	step, ok := MultiplyInt64(n, millis[u])
	if !ok {
		return 0, large
	}
	if u == unitWeek || u == unitDay {
		local, ok := AddInt64(z.local(ms), step)
		if !ok {
			return 0, overflow
		}
		return z.instant(local), nil
	}
	out, ok := AddInt64(ms, step)
	if !ok {
		return 0, overflow
	}
	return out, nil
}
