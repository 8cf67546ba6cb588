package settings

import (
	"math"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
)

// appendStatsBytes appends internalQueryStatsCacheSize, the memory for the statistics of $queryStats: a percentage of the memory of
// commands, or a size.
func appendStatsBytes(s *State, c *command.Call, name string) {
	if n := s.Sampling.Bytes.Load(); n > 0 {
		c.Reply.String(name, strconv.FormatInt(n, 10)+"B")
		return
	}
	c.Reply.String(name, "1%")
}

// statsUnits are the units of internalQueryStatsCacheSize, in bytes; longer ones first.
var statsUnits = [...]struct {
	name  string
	bytes float64
}{{"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"B", 1}, {"%", 0}}

// setStatsBytes sets internalQueryStatsCacheSize, such as "4MB" or "1%", at most the memory of commands; with check it only
// validates the value.
// Errors: TypeMismatch (14), BadValue (2).
func setStatsBytes(s *State, v bson.Value, check bool) error {
	text, ok := v.Str()
	if !ok {
		return mongoerr.New(mongoerr.TypeMismatch, "Invalid type '%s' for parameter internalQueryStatsCacheSize, expected string", v.Type)
	}
	for _, u := range statsUnits {
		number, ok := strings.CutSuffix(strings.ToUpper(text), u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n >= 0 && n <= math.MaxInt32) || u.bytes == 0 && n > 100 {
			break
		}
		size := int64(n * u.bytes)
		if u.bytes == 0 {
			size = s.StatsMemory(n)
		}
		if !check {
			s.Sampling.Bytes.Store(max(1, min(size, s.StatsMemory(100))))
		}
		return nil
	}
	return mongoerr.New(mongoerr.BadValue, "Invalid value for parameter internalQueryStatsCacheSize: %q is no size such as 4MB or 1%%", text)
}
