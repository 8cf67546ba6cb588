// Package quota divides the budgets of package ratelimit among several servers over one store, so
// that together they admit what one would.
//
// Every server has a row: what was asked of each limited budget in the second before. At the middle
// of each second of the store's time all of them read the state of that very moment, so all see the
// same rows, work out the same shares (ratelimit.Allot), and each adds its own at the beginning of
// the next second. Nothing else is added, so the shares of a second never come to more than the rate,
// whatever is slow: who reads late has its share late, who cannot read has none.
//
//	second 7                second 8                second 9
//	├── requests ───────────┼─ row ──── state read ─┼─ share of second 9
//
// A row is written only by who was asked for something. Without one, or with one of before the last
// second, a server counts as one that needs nothing, and has its part of the reserve: so a server
// that has died has no share after three seconds, and one that is idle writes nothing. Its row stays
// until somebody removes it, and says only that it is there.
//
// A server that is the only one has no part in this: its budgets are refilled by its own clock.
package quota
