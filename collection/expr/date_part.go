package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// datePart is an operator that returns a part of a date, such as $year, $month or $isoWeek: {$year: date} or
// {$year: {date:, timezone:}}.
type datePart struct {
	name       string
	get        func(local int64) int64
	long       bool // the result is an int64
	date, zone Expr // zone nil if absent
}

// parseDatePart returns the parse function of an operator such as $year. get computes the part from
// milliseconds on the local clock; long reports that the result is an int64.
func parseDatePart(get func(local int64) int64, long bool) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		e := &datePart{name: op.Name, get: get, long: long}
		if a, ok := v.Array(); ok {
			if n := a.Len(); n != 1 {
				return nil, mongoerr.New(40536, "%s accepts exactly one argument if given an array, but was given %d", op.Name, n)
			}
			v, _ = a.Index(0)
		} else if d, ok := v.Doc(); ok {
			f, ok := d.First()
			if !ok || f.Name == nil || len(f.Name) == 0 || f.Name[0] != '$' {
				return p.parseZonedPart(e, d)
			}
		}
		var err error
		if e.date, err = p.parse(v); err != nil {
			return nil, err
		}
		return p.fold(e)
	}
}

func (p *parser) parseZonedPart(e *datePart, d bson.Raw) (Expr, error) {
	var err error
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "date":
			e.date, err = p.parse(it.Value)
		case "timezone":
			e.zone, err = p.parse(it.Value)
		default:
			err = mongoerr.New(40535, "unrecognized option to %s: \"%s\"", e.name, it.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	if e.date == nil {
		return nil, mongoerr.New(40539, "missing 'date' argument to %s, provided: %s", e.name, names(d))
	}
	return p.fold(e)
}

func (e *datePart) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := e.date.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	if v.IsNullish() {
		return bson.Null, nil
	}
	z := utc
	if e.zone != nil {
		zv, err := e.zone.Eval(env, doc, s)
		if err != nil {
			return zv, err
		}
		var ok bool
		if z, ok, err = s.zoneOf(zv); err != nil || !ok {
			return bson.Null, err
		}
	}
	ms, err := dateArg(v)
	if err != nil {
		return v, err
	}
	n := e.get(z.local(ms))
	if e.long {
		return s.Int64(n), nil
	}
	return s.Int32(int32(n)), nil
}

// dateArg returns the instant that the argument of a date operator holds, in milliseconds since 1970.
//
// Errors: 16006 for a type without an instant.
func dateArg(v bson.Value) (int64, error) {
	ms, ok := dateOfValue(v)
	if !ok {
		return 0, mongoerr.New(16006, "can't convert from BSON type %s to Date", v.Type)
	}
	return ms, nil
}

func (e *datePart) children(add func(Expr)) {
	add(e.date)
	if e.zone != nil {
		add(e.zone)
	}
}

func (e *datePart) Paths(add func(string)) { pathsOf(e, add) }

func (e *datePart) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(e.name)
	e.date.Append(b, "date")
	if e.zone != nil {
		e.zone.Append(b, "timezone")
	}
	b.End()
	b.End()
}

func partYear(ms int64) int64        { return civilOf(ms).year }
func partMonth(ms int64) int64       { return civilOf(ms).month }
func partDay(ms int64) int64         { return civilOf(ms).day }
func partHour(ms int64) int64        { return civilOf(ms).hour }
func partMinute(ms int64) int64      { return civilOf(ms).minute }
func partSecond(ms int64) int64      { return civilOf(ms).second }
func partMillisecond(ms int64) int64 { return civilOf(ms).ms }
func partWeekday(ms int64) int64     { return weekday(floorDiv(ms, msPerDay)) + 1 }
func partYearDay(ms int64) int64     { return yearDay(floorDiv(ms, msPerDay)) }
func partWeek(ms int64) int64        { return sundayWeek(floorDiv(ms, msPerDay)) }
func partISOWeekday(ms int64) int64  { return isoWeekday(floorDiv(ms, msPerDay)) }

func partISOWeek(ms int64) int64 {
	_, week := isoWeek(floorDiv(ms, msPerDay))
	return week
}

func partISOYear(ms int64) int64 {
	year, _ := isoWeek(floorDiv(ms, msPerDay))
	return year
}
