package ratelimit

// reservePart of a rate is kept for servers that have asked for nothing: a hundredth, divided evenly. So the
// first request at any server can start, and the others miss less than can be measured.
const reservePart = 100

// Allot divides a rate among servers by what each of them needs, in units a second; needs of more than the rate
// count as that. The parts add up to the rate. While there is enough each has what it needs, and the rest is
// divided evenly; else each has its part by need, but for the reserve.
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
