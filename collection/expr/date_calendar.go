package expr

// Calendar arithmetic: civil dates of the proleptic Gregorian calendar are computed as numbers of days since
// 1970-01-01. All arithmetic is on int64 so that every date of BSON works.

const (
	msPerSecond = 1000
	msPerMinute = 60 * msPerSecond
	msPerHour   = 60 * msPerMinute
	msPerDay    = 24 * msPerHour
)

// floorDiv divides and rounds down; floorMod is the remainder.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

// daysOf returns the number of days from 1970-01-01 to a civil date. day may be any number, so that dates can
// be added up.
func daysOf(year int64, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	doy := (153*(month-3)+2)/5 + 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy - 1
	return era*146097 + doe - 719468 + day - 1
}

// civil is a broken-down date and time.
type civil struct {
	year                     int64
	month, day               int64 // from 1
	hour, minute, second, ms int64
	days                     int64 // day number
}

// civilOf converts milliseconds since the epoch.
func civilOf(ms int64) (c civil) {
	c.days = floorDiv(ms, msPerDay)
	rest := ms - c.days*msPerDay
	c.hour, rest = rest/msPerHour, rest%msPerHour
	c.minute, rest = rest/msPerMinute, rest%msPerMinute
	c.second, c.ms = rest/msPerSecond, rest%msPerSecond
	c.year, c.month, c.day = dateOf(c.days)
	return c
}

// dateOf returns the civil date of a day number.
func dateOf(days int64) (year, month, day int64) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = doy - (153*mp+2)/5 + 1
	month = mp + 3
	year = yoe + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

// weekday returns 0 for Sunday to 6 for Saturday.
func weekday(days int64) int64 { return floorMod(days+4, 7) }

// isoWeekday returns 1 for Monday to 7 for Sunday.
func isoWeekday(days int64) int64 { return floorMod(days+3, 7) + 1 }

// yearDay returns the day of the year, from 1.
func yearDay(days int64) int64 {
	year, _, _ := dateOf(days)
	return days - daysOf(year, 1, 1) + 1
}

// isoWeek returns the ISO 8601 year and week of a day: weeks begin on Monday, and the first week of a year
// contains its first Thursday.
func isoWeek(days int64) (year, week int64) {
	thursday := days - isoWeekday(days) + 4
	year, _, _ = dateOf(thursday)
	return year, (thursday-daysOf(year, 1, 1))/7 + 1
}

// isoWeekStart returns the day number of the Monday of the first ISO week of a year.
func isoWeekStart(year int64) int64 {
	d := daysOf(year, 1, 4)
	return d - isoWeekday(d) + 1
}

// sundayWeek returns the week of the year of a day, with weeks from Sunday; days before the first Sunday of the
// year are in week 0.
func sundayWeek(days int64) int64 { return (yearDay(days) - 1 + 7 - weekday(days)) / 7 }

// monthDays returns the length of a month.
func monthDays(year, month int64) int64 {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// appendPadded appends n, padded with leading zeros to a width.
func appendPadded(dst []byte, n int64, width int) []byte {
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	}
	var digits [20]byte
	i := len(digits)
	for n > 0 || i == len(digits) {
		i--
		digits[i] = byte('0' + n%10)
		n /= 10
	}
	for k := len(digits) - i; k < width; k++ {
		dst = append(dst, '0')
	}
	return append(dst, digits[i:]...)
}

// appendISO prints a date as 2024-01-31T23:59:59.999Z.
func appendISO(dst []byte, ms int64) []byte {
	c := civilOf(ms)
	dst = appendPadded(dst, c.year, 4)
	dst = appendPadded(append(dst, '-'), c.month, 2)
	dst = appendPadded(append(dst, '-'), c.day, 2)
	dst = appendPadded(append(dst, 'T'), c.hour, 2)
	dst = appendPadded(append(dst, ':'), c.minute, 2)
	dst = appendPadded(append(dst, ':'), c.second, 2)
	dst = appendPadded(append(dst, '.'), c.ms, 3)
	return append(dst, 'Z')
}
