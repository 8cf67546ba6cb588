package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var toPartsSignature = &signature{
	fields:    []field{{name: "date", missing: 40522}, {name: "timezone"}, {name: "iso8601"}},
	notObject: 40524, unknown: 40520,
}

// dateToParts is $dateToParts.
func dateToParts(env *mql.Env, s *Scratch, a []bson.Value, g given) (bson.Value, error) {
	iso := false
	if g.has(2) {
		if a[2].IsNullish() {
			return bson.Null, nil
		}
		var ok bool
		if iso, ok = a[2].Boolean(); !ok {
			return a[2], mongoerr.New(40521, "iso8601 must evaluate to a bool, found %s", a[2].Type)
		}
	}
	z, ok, err := s.zoneArg(a[1], g.has(1))
	if err != nil || !ok || a[0].IsNullish() {
		return bson.Null, err
	}
	ms, err := dateArg(a[0])
	if err != nil {
		return a[0], err
	}
	c := civilOf(z.local(ms))
	b := s.newDoc()
	if iso {
		year, week := isoWeek(c.days)
		b.Int32("isoWeekYear", int32(year))
		b.Int32("isoWeek", int32(week))
		b.Int32("isoDayOfWeek", int32(isoWeekday(c.days)))
	} else {
		b.Int32("year", int32(c.year))
		b.Int32("month", int32(c.month))
		b.Int32("day", int32(c.day))
	}
	b.Int32("hour", int32(c.hour))
	b.Int32("minute", int32(c.minute))
	b.Int32("second", int32(c.second))
	b.Int32("millisecond", int32(c.ms))
	return s.endDoc(env, b)
}

// zoneArg returns the time zone of an optional timezone argument, UTC if it is absent; ok is false if its value
// is null or missing.
func (s *Scratch) zoneArg(v bson.Value, present bool) (z *zone, ok bool, err error) {
	if !present {
		return utc, true, nil
	}
	return s.zoneOf(v)
}

// Positions in fromPartsSignature.
const (
	fpYear = iota
	fpISOYear
	fpMonth
	fpISOWeek
	fpDay
	fpISODay
	fpHour
	fpMinute
	fpSecond
	fpMillisecond
	fpZone
)

var fromPartsSignature = &signature{
	fields: []field{{name: "year"}, {name: "isoWeekYear"}, {name: "month"}, {name: "isoWeek"}, {name: "day"}, {name: "isoDayOfWeek"},
		{name: "hour"}, {name: "minute"}, {name: "second"}, {name: "millisecond"}, {name: "timezone"}},
	notObject: 40519, unknown: 40518, check: checkFromParts,
}

func checkFromParts(_ *parser, args []Expr) error {
	has := func(i int) bool { return args[i] != nil }
	switch {
	case !has(fpYear) && !has(fpISOYear):
		return mongoerr.New(40516, "$dateFromParts requires either 'year' or 'isoWeekYear' to be present")
	case has(fpYear) && (has(fpISOYear) || has(fpISOWeek) || has(fpISODay)):
		return mongoerr.New(40489, "$dateFromParts does not allow mixing natural dates with ISO dates")
	case has(fpISOYear) && (has(fpYear) || has(fpMonth) || has(fpDay)):
		return mongoerr.New(40525, "$dateFromParts does not allow mixing ISO dates with natural dates")
	}
	return nil
}

// dateFromParts is $dateFromParts. Parts other than the year may exceed their usual range and carry over: month 13 is
// January of the next year.
func dateFromParts(_ *mql.Env, s *Scratch, a []bson.Value, g given) (bson.Value, error) {
	part := [fpZone]int64{fpMonth: 1, fpISOWeek: 1, fpDay: 1, fpISODay: 1}
	z, ok, err := s.zoneArg(a[fpZone], g.has(fpZone))
	if err != nil || !ok {
		return bson.Null, err
	}
	null := false
	for i := range part {
		if !g.has(i) {
			continue
		}
		if a[i].IsNullish() {
			null = true
			continue
		}
		if null {
			continue
		}
		name := fromPartsSignature.fields[i].name
		if part[i], ok = a[i].AsInt64(); !ok {
			return a[i], mongoerr.New(40515, "'%s' must evaluate to an integer, found %s with value %s", name, a[i].Type, show(a[i]))
		}
		n := part[i]
		switch {
		case i == fpYear || i == fpISOYear:
			if n < 1 || n > 9999 {
				return a[i], mongoerr.New(40523, "'%s' must evaluate to an integer in the range 1 to 9999, found %d", name, n)
			}
		case i == fpSecond || i == fpMillisecond:
			if n < -1<<53 || n > 1<<53 {
				return a[i], mongoerr.New(31034, "'%s' must evaluate to a value in the range [%d, %d]; value %d is not in range", name, int64(-1<<53), int64(1<<53), n)
			}
		case n < -32768 || n > 32767:
			return a[i], mongoerr.New(31034, "'%s' must evaluate to a value in the range [-32768, 32767]; value %d is not in range", name, n)
		}
	}
	if null {
		return bson.Null, nil
	}
	var days int64
	if g.has(fpISOYear) {
		days = isoWeekStart(part[fpISOYear]) + (part[fpISOWeek]-1)*7 + part[fpISODay] - 1
	} else {
		month := part[fpMonth] - 1
		days = daysOf(part[fpYear]+floorDiv(month, 12), floorMod(month, 12)+1, part[fpDay])
	}
	local := days*msPerDay + part[fpHour]*msPerHour + part[fpMinute]*msPerMinute
	seconds, ok := MultiplyInt64(part[fpSecond], msPerSecond)
	if ok {
		if local, ok = AddInt64(local, seconds); ok {
			local, ok = AddInt64(local, part[fpMillisecond])
		}
	}
	if !ok {
		return bson.Value{}, dateOverflow("$dateFromParts")
	}
	return s.DateTime(z.instant(local)), nil
}
