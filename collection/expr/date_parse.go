package expr

import (
	"strings"

	"github.com/cantledb/cantle/collection/mongoerr"
)

// clock holds the parts of a date and time that have been read from a text; absent parts are -1, an absent year
// is noYear.
type clock struct {
	year, month, day, yearDay          int64
	isoYear, isoWeek, isoDay           int64
	hour, minute, second, ms           int64
	zone                               *zone
	hasDate, hasTime, pm, twelve, hasZ bool
}

// noYear marks an absent year, because -1 is a year; other absent parts are -1.
const noYear = -1 << 40

// newClock returns a clock without any part.
func newClock() clock {
	return clock{year: noYear, month: -1, day: -1, yearDay: -1, isoYear: noYear, isoWeek: -1, isoDay: -1, hour: -1, minute: -1, second: -1, ms: -1}
}

// badDate returns the error for text that is not a date.
func badDate(text, why string) error {
	return mongoerr.New(mongoerr.ConversionFailure, "Error parsing date string '%.100s'; %s", text, why)
}

// parseDate returns the instant of a text, in milliseconds since 1970, in one of the usual forms: ISO 8601,
// with or without time, fraction and zone; RFC 2822 and the American and written-out forms. def is the time
// zone for a text without one, nil for UTC. Words relative to the present are errors.
// Manual: reference/operator/aggregation/dateFromString.
//
// Errors: ConversionFailure.
func parseDate(text string, def *zone) (int64, error) {
	p := dateText{text: text, rest: strings.Trim(text, " \t\n\v\f\r\x00\u00a0"), c: newClock()}
	if p.rest == "" {
		return 0, badDate(text, "an empty string is no date")
	}
	negative := strings.HasPrefix(p.rest, "-") && span(p.rest[1:]) == 4
	if negative {
		p.rest = p.rest[1:]
	}
	for p.rest != "" {
		if !p.part() {
			return 0, badDate(text, "unexpected characters at '"+clip(p.rest)+"'")
		}
	}
	if p.c.year == noYear || p.c.month < 0 && p.c.yearDay < 0 && p.c.isoWeek < 0 {
		return 0, badDate(text, "an incomplete date/time string has been found")
	}
	if negative {
		p.c.year = -p.c.year
	}
	if p.c.hasZ && !def.isUTC() {
		return 0, badDate(text, "you cannot pass in a date/time string with time zone information together with a timezone argument")
	}
	if def == nil {
		def = utc
	}
	return p.c.instant(text, def)
}

func clip(s string) string {
	if len(s) > 20 {
		return s[:20]
	}
	return s
}

// instant returns the instant that the parts denote, in milliseconds since 1970. z is the time zone for a text
// without one.
func (c *clock) instant(text string, z *zone) (int64, error) {
	if c.zone != nil {
		z = c.zone
	}
	var days int64
	switch {
	case c.isoYear != noYear:
		week, day := max(c.isoWeek, 1), max(c.isoDay, 1)
		days = isoWeekStart(c.isoYear) + (week-1)*7 + day - 1
	case c.isoWeek >= 0 && c.month < 0 && c.yearDay < 0:
		days = isoWeekStart(c.year) + (c.isoWeek-1)*7 + max(c.isoDay, 1) - 1
	case c.yearDay >= 0:
		if c.yearDay < 1 || c.yearDay > 366 {
			return 0, badDate(text, "the day of the year is out of range")
		}
		days = daysOf(c.year, 1, c.yearDay)
	default:
		month, day := max(c.month, 1), c.day
		if day < 0 {
			day = 1
		}
		if month > 12 || day < 1 || day > monthDays(c.year, month) {
			return 0, badDate(text, "the parsed date was invalid")
		}
		days = daysOf(c.year, month, day)
	}
	hour, minute, second, ms := max(c.hour, 0), max(c.minute, 0), max(c.second, 0), max(c.ms, 0)
	if c.twelve {
		if hour < 1 || hour > 12 {
			return 0, badDate(text, "the hour is out of range")
		}
		if hour %= 12; c.pm {
			hour += 12
		}
	}
	if hour > 24 || hour == 24 && minute+second+ms > 0 || minute > 59 || second > 59 {
		return 0, badDate(text, "the parsed time was invalid")
	}
	return z.instant(days*msPerDay + hour*msPerHour + minute*msPerMinute + second*msPerSecond + ms), nil
}

// dateText parses free text part by part.
type dateText struct {
	text, rest string
	c          clock
}

var months = [12]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
var weekdays = [7]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// part reads the next part of the text, such as a time, and reports whether it is valid.
func (p *dateText) part() bool {
	c := p.rest[0]
	switch {
	case c == ' ' || c == '\t' || c == ',':
		p.rest = p.rest[1:]
		return true
	case c >= '0' && c <= '9':
		return p.numeric()
	case (c == '+' || c == '-') && p.c.zone == nil && (p.c.hasTime || p.c.hasDate && (c == '+' || p.afterSpace())):
		return p.zoneOffset()
	case c|32 >= 'a' && c|32 <= 'z':
		return p.word()
	}
	return false
}

// afterSpace reports whether the unread text follows a space: then a minus begins the offset of a time zone
// (2018-03-05 -10:00), otherwise it continues the date.
func (p *dateText) afterSpace() bool {
	before := strings.TrimSuffix(strings.TrimRight(p.text, " \t\n\v\f\r\x00\u00a0"), p.rest)
	return strings.HasSuffix(before, " ")
}

// span returns the number of digits at the beginning.
func span(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// take reads n digits.
func (p *dateText) take(n int) int64 {
	v := number(p.rest[:n])
	p.rest = p.rest[n:]
	return v
}

// numeric reads a date or a time that begins with a digit.
func (p *dateText) numeric() bool {
	n := span(p.rest)
	next := byte(0)
	if n < len(p.rest) {
		next = p.rest[n]
	}
	switch {
	case n <= 2 && next == ':':
		return p.time()
	case n <= 2 && p.c.hasDate && !p.c.hasTime && meridian(p.rest[n:]) > 0:
		return p.time()
	case p.c.hasDate && p.c.year != noYear:
		return false
	case n == 4 && (next == '-' || next == '/' || next == 'W' || next == '.'):
		return p.yearFirst(next)
	case n == 8 && !p.c.hasDate:
		p.c.year, p.c.month, p.c.day = p.take(4), p.take(2), p.take(2)
		p.c.hasDate = true
		return p.afterDate()
	case n == 14 && !p.c.hasDate:
		p.c.year, p.c.month, p.c.day = p.take(4), p.take(2), p.take(2)
		p.c.hour, p.c.minute, p.c.second = p.take(2), p.take(2), p.take(2)
		p.c.hasDate, p.c.hasTime = true, true
		return true
	case n <= 2 && next == '/': // month/day/year
		p.c.month = p.take(n)
		return p.slash('/', &p.c.day) && p.tail('/')
	case n <= 2 && (next == '.' || next == '-') && span(p.rest[n+1:]) > 0: // day.month.year
		p.c.day = p.take(n)
		return p.slash(next, &p.c.month) && p.tail(next)
	case n <= 2 && next == '-': // day-Mon-year
		p.c.day = p.take(n)
		p.rest = p.rest[1:]
		if !p.month() || p.rest == "" || p.rest[0] != '-' {
			return false
		}
		p.rest = p.rest[1:]
		return p.year()
	case n == 4 && p.c.month >= 0:
		return p.year()
	case n <= 2 && p.c.day < 0: // the day of a written month
		p.c.day = p.take(n)
		for _, s := range [...]string{"st", "nd", "rd", "th"} {
			if len(p.rest) >= 2 && strings.EqualFold(p.rest[:2], s) {
				p.rest = p.rest[2:]
				break
			}
		}
		return true
	}
	return false
}

// slash reads a separator and one or two digits.
func (p *dateText) slash(sep byte, to *int64) bool {
	if p.rest == "" || p.rest[0] != sep {
		return false
	}
	n := span(p.rest[1:])
	if n < 1 || n > 2 {
		return false
	}
	p.rest = p.rest[1:]
	*to = p.take(n)
	return true
}

// tail reads the year of day/month/year.
func (p *dateText) tail(sep byte) bool {
	if p.rest == "" || p.rest[0] != sep {
		return false
	}
	p.rest = p.rest[1:]
	return p.year()
}

// year reads a year of four or two digits.
func (p *dateText) year() bool {
	switch n := span(p.rest); n {
	case 4:
		p.c.year = p.take(4)
	case 2:
		if p.c.year = p.take(2); p.c.year < 70 {
			p.c.year += 2000
		} else {
			p.c.year += 1900
		}
	default:
		return false
	}
	p.c.hasDate = true
	return p.afterDate()
}

// yearFirst reads a date that begins with its year: 2024-01-31, 2024/1/31, 2024-031, 2024-W05-1 or 2024-01.
func (p *dateText) yearFirst(sep byte) bool {
	p.c.year = p.take(4)
	p.c.hasDate = true
	if sep != 'W' {
		p.rest = p.rest[1:]
	}
	if strings.HasPrefix(p.rest, "W") {
		p.rest = p.rest[1:]
		if span(p.rest) < 2 {
			return false
		}
		p.c.isoYear, p.c.isoWeek = p.c.year, p.take(2)
		p.rest = strings.TrimPrefix(p.rest, "-")
		if span(p.rest) == 1 {
			p.c.isoDay = p.take(1)
		}
		return p.afterDate()
	}
	n := span(p.rest)
	switch {
	case n == 3:
		p.c.yearDay = p.take(3)
		return p.afterDate()
	case n == 0 && sep == '-':
		if !p.month() || p.rest == "" || p.rest[0] != '-' {
			return false
		}
	case n == 1 || n == 2:
		p.c.month = p.take(n)
	default:
		return false
	}
	if p.rest == "" || p.rest[0] != sep {
		p.c.day = 1
		return p.afterDate()
	}
	p.rest = p.rest[1:]
	if n = span(p.rest); n < 1 || n > 2 {
		return false
	}
	p.c.day = p.take(n)
	return p.afterDate()
}

// afterDate reads the T between date and time.
func (p *dateText) afterDate() bool {
	if len(p.rest) > 1 && (p.rest[0] == 'T' || p.rest[0] == 't') && span(p.rest[1:]) > 0 {
		p.rest = p.rest[1:]
		return p.time()
	}
	return true
}

// time reads a time of day: 12:30, 12:30:15.123, 123015 after a T, or 3 pm.
func (p *dateText) time() bool {
	if p.c.hasTime {
		return false
	}
	p.c.hasTime = true
	n := span(p.rest)
	if n == 6 || n == 4 {
		p.c.hour, p.c.minute = p.take(2), p.take(2)
		if n == 6 {
			p.c.second = p.take(2)
		}
		return p.fraction() && p.meridian()
	}
	if n < 1 || n > 2 {
		return false
	}
	p.c.hour = p.take(n)
	for i, to := range [2]*int64{&p.c.minute, &p.c.second} {
		if p.rest == "" || p.rest[0] != ':' && !(i == 1 && p.dotted()) {
			if i == 0 && meridian(p.rest) == 0 {
				return false
			}
			break
		}
		if n = span(p.rest[1:]); n < 1 || n > 2 {
			return false
		}
		p.rest = p.rest[1:]
		*to = p.take(n)
	}
	return p.fraction() && p.meridian()
}

// dotted reports whether seconds follow a dot, as in 11:56.02.
func (p *dateText) dotted() bool {
	n := span(p.rest[1:])
	return p.rest[0] == '.' && (n == 1 || n == 2)
}

func (p *dateText) fraction() bool {
	if len(p.rest) < 2 || p.rest[0] != '.' && p.rest[0] != ',' || span(p.rest[1:]) == 0 || p.c.second < 0 {
		return true
	}
	n := span(p.rest[1:])
	ms := int64(0)
	for i := range 3 {
		ms *= 10
		if i < n {
			ms += int64(p.rest[1+i] - '0')
		}
	}
	p.c.ms = ms
	p.rest = p.rest[1+n:]
	return true
}

// meridian returns the length of "am", "pm", "a.m." or "p.m." at the beginning of s, with the spaces before it; 0 if
// there is none.
func meridian(s string) int {
	t := strings.ToLower(strings.TrimLeft(s, " "))
	skipped := len(s) - len(t)
	for _, m := range [...]string{"am", "pm", "a.m.", "p.m."} {
		if strings.HasPrefix(t, m) && (len(t) == len(m) || t[len(m)] < 'a' || t[len(m)] > 'z') {
			return skipped + len(m)
		}
	}
	return 0
}

func (p *dateText) meridian() bool {
	if n := meridian(p.rest); n > 0 {
		p.c.twelve = true
		p.c.pm = strings.ContainsAny(p.rest[:n], "pP")
		p.rest = p.rest[n:]
	}
	return true
}

func (p *dateText) zoneOffset() bool {
	z, n := parseOffset(p.rest)
	if n == 0 {
		if len(p.rest) < 2 || span(p.rest[1:]) != 1 {
			return false
		}
		z, n = parseOffset(p.rest[:1] + "0" + p.rest[1:2])
		n--
	}
	p.c.zone, p.c.hasZ = z, true
	p.rest = p.rest[n:]
	return true
}

// month reads a written month.
func (p *dateText) month() bool {
	n := 0
	for n < len(p.rest) && p.rest[n]|32 >= 'a' && p.rest[n]|32 <= 'z' {
		n++
	}
	word := strings.ToLower(p.rest[:n])
	for i, m := range months {
		if word == m || word == m[:3] || word == "sept" && i == 8 {
			p.c.month = int64(i + 1)
			p.rest = strings.TrimPrefix(p.rest[n:], ".")
			return true
		}
	}
	return false
}

// word reads a month, a weekday or a zone.
func (p *dateText) word() bool {
	if p.c.month < 0 && p.month() {
		p.rest = strings.TrimPrefix(p.rest, "-")
		return true
	}
	n := 0
	for n < len(p.rest) && (p.rest[n]|32 >= 'a' && p.rest[n]|32 <= 'z' || p.rest[n] == '/' || p.rest[n] == '_') {
		n++
	}
	word := p.rest[:n]
	lower := strings.ToLower(word)
	for _, d := range weekdays {
		if lower == d || lower == d[:3] {
			p.rest = strings.TrimPrefix(p.rest[n:], ".")
			return true
		}
	}
	switch {
	case lower == "of":
	case p.c.zone != nil:
		return false
	case (lower == "z" || lower == "utc" || lower == "gmt") && p.c.hasDate:
		p.c.zone, p.c.hasZ = utc, true
		p.rest = p.rest[n:]
		// "GMT+02:00" is an offset.
		if lower != "z" && p.rest != "" && (p.rest[0] == '+' || p.rest[0] == '-') {
			p.c.zone = nil
			return p.zoneOffset()
		}
		return true
	case p.c.hasDate && p.c.hasTime:
		z := abbreviation(lower)
		if z == nil {
			z = parseZone(word)
		}
		if z == nil {
			return false
		}
		p.c.zone, p.c.hasZ = z, true
	default:
		return false
	}
	p.rest = p.rest[n:]
	return true
}

// abbreviation returns the zone of an abbreviation of mail headers.
func abbreviation(s string) *zone {
	for _, a := range [...]struct {
		name  string
		hours int64
	}{{"est", -5}, {"edt", -4}, {"cst", -6}, {"cdt", -5}, {"mst", -7}, {"mdt", -6}, {"pst", -8}, {"pdt", -7}, {"cet", 1}, {"cest", 2}, {"bst", 1}, {"wet", 0}, {"eet", 2}, {"eest", 3}, {"msk", 3}} {
		if a.name == s {
			return &zone{name: s, offset: a.hours * 3600}
		}
	}
	if len(s) == 1 { // military zones
		switch c := s[0]; {
		case c >= 'a' && c <= 'i':
			return &zone{name: s, offset: int64(c-'a'+1) * 3600}
		case c >= 'k' && c <= 'm':
			return &zone{name: s, offset: int64(c-'k'+10) * 3600}
		case c >= 'n' && c <= 'y':
			return &zone{name: s, offset: -int64(c-'n'+1) * 3600}
		}
	}
	return nil
}
