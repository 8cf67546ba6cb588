package ratelimit

// reservePart is the part of a rate that is divided evenly among servers without regard to their needs: a
// hundredth. So the first request at any server can start, and the others do not notice the loss.
const reservePart = 100

// Allot divides a rate among servers by their needs, in units per second; a need above the rate counts as the
// rate. The parts add up to the rate. If the rate suffices, each server gets its need, and the rest is
// divided evenly. Otherwise the rate minus the reserve is divided in proportion to the needs, and the reserve
// evenly.
func Allot(rate MicroRU, needs []MicroRU) []MicroRU {
	n := int64(len(needs))
	if n == 0 {
		return nil
	}
	rate = max(rate, 0)
	parts := make([]MicroRU, n)
	total := int64(0)
	for i, d := range needs {
		parts[i] = min(max(d, 0), rate)
		total += int64(parts[i])
	}
	if most := int64(rate - rate/reservePart); total > most {
		sum, given := int64(0), MicroRU(0)
		for i := range parts {
			sum += int64(parts[i])
			upTo := scale(sum, most, total)
			parts[i], given = upTo-given, upTo
		}
		total = most
	}
	rest := int64(rate) - total
	for i := range parts {
		parts[i] += MicroRU(rest / n)
		if int64(i) < rest%n {
			parts[i]++
		}
	}
	return parts
}
