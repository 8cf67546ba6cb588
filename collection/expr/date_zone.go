package expr

import (
	"strings"
	"time"
	_ "time/tzdata" // zone data for servers without them

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// zone is a time zone: an Olson name such as Europe/Berlin, or a fixed offset.
type zone struct {
	name   string
	loc    *time.Location // nil: fixed offset
	offset int64          // seconds east
}

// utc is the zone of dates without one.
var utc = &zone{name: "UTC"}

// isUTC reports whether z is UTC or nil.
func (z *zone) isUTC() bool { return z == nil || z.loc == nil && z.offset == 0 }

// offsetAt returns the offset in seconds at an instant.
func (z *zone) offsetAt(ms int64) int64 {
	if z.loc == nil {
		return z.offset
	}
	_, o := time.UnixMilli(ms).In(z.loc).Zone()
	return int64(o)
}

// local converts an instant to the time on the zone's local clock, in milliseconds as if the local time were
// UTC.
func (z *zone) local(ms int64) int64 { return ms + z.offsetAt(ms)*msPerSecond }

// instant converts a time on the local clock to an instant: the inverse of local. If two instants have the same
// local time, it returns the first. Local times that the clock skips are moved forward.
func (z *zone) instant(local int64) int64 {
	if z.loc == nil {
		return local - z.offset*msPerSecond
	}
	before, after := z.offsetAt(local-msPerDay)*msPerSecond, z.offsetAt(local+msPerDay)*msPerSecond
	if u := local - before; z.offsetAt(u)*msPerSecond == before {
		return u
	}
	if u := local - after; z.offsetAt(u)*msPerSecond == after {
		return u
	}
	return local - before
}

// zoneOf returns the time zone that the value of an argument `timezone` names; ok is false for null and
// missing. s caches up to 64 zones.
//
// Errors: 40517 for a wrong type, 40485 for an unknown name.
func (s *Scratch) zoneOf(v bson.Value) (z *zone, ok bool, err error) {
	if v.IsNullish() {
		return nil, false, nil
	}
	if v.Type != bson.TypeString {
		return nil, false, mongoerr.New(40517, "timezone must evaluate to a string, found %s", v.Type)
	}
	text, _ := v.Text()
	if z, ok := s.zones[string(text)]; ok {
		return z, true, nil
	}
	z = parseZone(string(text))
	if z == nil {
		return nil, false, mongoerr.New(40485, "unrecognized time zone identifier: \"%.60s\"", text)
	}
	if s.zones == nil {
		s.zones = map[string]*zone{}
	}
	if len(s.zones) < 64 {
		s.zones[string(text)] = z
	}
	return z, true, nil
}

// parseZone returns the time zone of an Olson name or an offset; nil if text is neither.
func parseZone(text string) *zone {
	if z, n := parseOffset(text); n == len(text) && n > 0 {
		return z
	}
	if text == "" || text == "Local" || strings.ContainsAny(text, "\\\x00") || strings.Contains(text, "..") || text[0] == '/' {
		return nil
	}
	if text == "UTC" || text == "GMT" {
		return &zone{name: text}
	}
	loc, err := time.LoadLocation(text)
	if err != nil || loc.String() != text {
		return nil
	}
	return &zone{name: text, loc: loc}
}

// parseOffset reads the offset of a time zone, +hh, +hhmm or +hh:mm, at the beginning of text. It returns the
// zone and the number of bytes read; 0 if there is no offset.
func parseOffset(text string) (*zone, int) {
	if len(text) < 3 || text[0] != '+' && text[0] != '-' || !digits(text[1:3]) {
		return nil, 0
	}
	n := 3
	o := number(text[1:3]) * 3600
	switch {
	case len(text) >= 6 && text[3] == ':' && digits(text[4:6]):
		o += number(text[4:6]) * 60
		n = 6
	case len(text) >= 5 && digits(text[3:5]):
		o += number(text[3:5]) * 60
		n = 5
	}
	if text[0] == '-' {
		o = -o
	}
	return &zone{name: text[:n], offset: o}, n
}

// digits reports whether a text consists of digits only.
func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// number returns the value of up to 18 digits.
func number(s string) (n int64) {
	for i := range len(s) {
		n = n*10 + int64(s[i]-'0')
	}
	return n
}
