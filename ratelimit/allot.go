package ratelimit

// reservePart sets the reserve: one hundredth of a rate is divided evenly among the servers, whatever their needs.
// So even a server without any need can start a first request, and the loss of the others is too small to notice.
const reservePart = 100

// Allot divides a budget's rate among servers by their needs, all in millionths of an RU per second, and returns one
// part per server; the parts add up to the rate. A need above the rate counts as the rate. If the needs fit into the
// rate minus the reserve, each server gets its need, and the rest is divided evenly. Otherwise the rate minus the
// reserve is divided in proportion to the needs, and the reserve evenly.
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
