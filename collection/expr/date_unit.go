package expr

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// unit is a unit of time.
type unit uint8

const (
	unitYear unit = iota
	unitQuarter
	unitMonth
	unitWeek
	unitDay
	unitHour
	unitMinute
	unitSecond
	unitMillisecond
)

var unitNames = [...]string{"year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"}

// millis is the length of each unit in milliseconds; 0 for months and longer units, whose length varies.
var millis = [...]int64{unitWeek: 7 * msPerDay, unitDay: msPerDay, unitHour: msPerHour, unitMinute: msPerMinute, unitSecond: msPerSecond, unitMillisecond: 1}

// unitOf returns the unit that the value of an argument `unit` names; it must not be null or missing.
//
// Errors: 5439013 for a wrong type, FailedToParse for an unknown name.
func unitOf(op string, v bson.Value) (unit, error) {
	if v.Type != bson.TypeString {
		return 0, mongoerr.New(5439013, "%s requires 'unit' to be a string, but got %s", op, v.Type)
	}
	text, _ := v.Str()
	for i, n := range unitNames {
		if n == text {
			return unit(i), nil
		}
	}
	return 0, mongoerr.New(mongoerr.FailedToParse, "%s parameter 'unit' value cannot be recognized as a time unit: %s", op, show(v))
}

// weekStart returns the day that the value of an argument startOfWeek names, in full or by three letters, 1 for
// Monday to 7 for Sunday; it must not be null or missing.
//
// Errors: 5439015 for a wrong type, 5439016 for an unknown day.
func weekStart(op string, v bson.Value) (int64, error) {
	if v.Type != bson.TypeString {
		return 0, mongoerr.New(5439015, "%s requires 'startOfWeek' to be a string, but got %s", op, v.Type)
	}
	text, _ := v.Str()
	text = strings.ToLower(text)
	for i, d := range weekdays {
		if text == d || text == d[:3] {
			return int64(i+6)%7 + 1, nil
		}
	}
	return 0, mongoerr.New(5439016, "%s parameter 'startOfWeek' value cannot be recognized as a day of a week: %s", op, show(v))
}

// addMonths adds n months to a time on the local clock, in milliseconds. A day beyond the end of the month
// becomes the month's last day.
func addMonths(local, n int64) int64 {
	c := civilOf(local)
	m := c.year*12 + c.month - 1 + n
	year, month := floorDiv(m, 12), floorMod(m, 12)+1
	days := daysOf(year, month, min(c.day, monthDays(year, month)))
	return days*msPerDay + floorMod(local, msPerDay)
}
