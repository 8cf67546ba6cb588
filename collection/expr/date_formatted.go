package expr

import "strings"

// formattedDate is the text of a date while $dateFromString parses it by a format, part by part.
type formattedDate struct {
	text, rest string // the whole text, and the unread rest
	c          clock
}

// parseFormatted returns the instant of a text, in milliseconds since 1970, that is parsed by a valid format.
// def is the time zone for a text without one, nil for UTC.
//
// Errors: ConversionFailure.
func parseFormatted(text, format string, def *zone) (int64, error) {
	d := formattedDate{text: text, rest: text, c: newClock()}
	for i := 0; i < len(format); i++ {
		ok := false
		if format[i] == '%' {
			i++
			ok = d.specifier(format[i])
		} else {
			ok = d.literal(format[i])
		}
		if !ok {
			return 0, badDate(text, "it does not match the format '"+format+"'")
		}
	}
	if err := d.check(def); err != nil {
		return 0, err
	}
	if def == nil {
		def = utc
	}
	return d.c.instant(text, def)
}

// literal reads one literal character of the format.
func (d *formattedDate) literal(want byte) bool {
	if d.rest == "" || d.rest[0] != want {
		return false
	}
	d.rest = d.rest[1:]
	return true
}

// digits reads a number of at least least and at most most digits into a part of the date.
func (d *formattedDate) digits(part *int64, least, most int) bool {
	n := min(span(d.rest), most)
	if n < least {
		*part = 0
		return false
	}
	*part = number(d.rest[:n])
	d.rest = d.rest[n:]
	return true
}

// specifier reads the part that the letter after a % denotes.
func (d *formattedDate) specifier(letter byte) bool {
	c := &d.c
	switch letter {
	case '%':
		return d.literal('%')
	case 'Y':
		return d.digits(&c.year, 4, 4)
	case 'm':
		return d.digits(&c.month, 1, 2)
	case 'b', 'B':
		return d.monthName()
	case 'd':
		return d.digits(&c.day, 1, 2)
	case 'j':
		// Observed: the number is added to January 1st.
		ok := d.digits(&c.yearDay, 3, 3) && c.yearDay < 366
		c.yearDay++
		return ok
	case 'G':
		return d.digits(&c.isoYear, 4, 4)
	case 'V':
		return d.digits(&c.isoWeek, 1, 2) && c.isoWeek >= 1 && c.isoWeek <= 53
	case 'u':
		return d.digits(&c.isoDay, 1, 1) && c.isoDay >= 1 && c.isoDay <= 7
	case 'H':
		return d.digits(&c.hour, 1, 2)
	case 'M':
		return d.digits(&c.minute, 1, 2)
	case 'S':
		return d.digits(&c.second, 1, 2)
	case 'L':
		return d.fraction()
	case 'z':
		return d.zone()
	case 'Z':
		return d.minutes()
	}
	return true
}

// fraction reads one to three digits of the fraction of a second.
func (d *formattedDate) fraction() bool {
	n := min(span(d.rest), 3)
	ok := d.digits(&d.c.ms, 1, 3)
	for ; n < 3; n++ {
		d.c.ms *= 10
	}
	return ok
}

func (d *formattedDate) monthName() bool {
	p := dateText{rest: d.rest, c: d.c}
	if !p.month() {
		return false
	}
	d.c, d.rest = p.c, p.rest
	return true
}

// zone reads a time zone, an offset such as +02:00 or a name, after any blanks.
func (d *formattedDate) zone() (ok bool) {
	d.rest = strings.TrimLeft(d.rest, " \t")
	p := dateText{rest: d.rest, c: d.c}
	p.c.hasDate, p.c.hasTime = true, true
	switch {
	case d.rest == "":
	case strings.ContainsRune("+-", rune(d.rest[0])):
		ok = p.zoneOffset()
	default:
		ok = p.word() && p.c.zone != nil
	}
	d.c.zone, d.c.hasZ, d.rest = p.c.zone, true, p.rest
	return ok
}

// minutes reads an offset in minutes.
func (d *formattedDate) minutes() bool {
	sign := int64(1)
	if d.literal('-') {
		sign = -1
	} else {
		d.literal('+')
	}
	var n int64
	ok := d.digits(&n, 1, 4)
	d.c.zone, d.c.hasZ = &zone{offset: sign * n * 60}, true
	return ok
}

// check rejects a text with unread rest, with contradictory or missing parts, or with a time zone beside an
// argument timezone other than UTC (def).
func (d *formattedDate) check(def *zone) error {
	c := &d.c
	switch {
	case d.rest != "":
		return badDate(d.text, "trailing data")
	case c.hasZ && !def.isUTC():
		return badDate(d.text, "you cannot pass in a date/time string with time zone information together with a timezone argument")
	case c.isoYear != noYear && (c.month >= 0 || c.day >= 0 || c.year != noYear):
		return badDate(d.text, "mixing of ISO dates with natural dates is not allowed")
	case c.isoYear == noYear && (c.isoWeek >= 0 || c.isoDay >= 0):
		return badDate(d.text, "ISO week or day without an ISO year")
	case c.isoYear == noYear && c.year == noYear,
		c.year != noYear && c.yearDay < 0 && (c.month < 0 || c.day < 0):
		return badDate(d.text, "an incomplete date/time string has been found, with elements missing: \""+clip(d.text)+"\"")
	}
	return nil
}
