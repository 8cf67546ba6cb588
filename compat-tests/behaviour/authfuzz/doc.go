// Package authfuzz looks for the gap between what authorization reads of a command and what
// the command runs: users without a role, or with one narrow role each, send every command,
// stage and argument, mutated, to a server in which everything else is marked.
//
//	world_test.go       the server: databases, users, sessions and operations full of marks
//	users_test.go       who asks: what each may see and change
//	commands_test.go    a valid request for every command; stages_test.go, for every stage
//	cases_test.go       what compat-tests/behaviour/cases and collection/agg/testdata send, aimed anew
//	draw_test.go        names for the places that name something: the user's own, or others'
//	mutate_test.go      fields that come twice, null first, other numbers, other types, other order, ...
//	state_test.go       all that there is to change
//	judge_test.go       a mark in a reply, a count, a password in a log, a change outside
//	shrink_test.go      the smallest request that still shows it
//
// Marks are words that nobody can guess, made for each server: whatever the request says of
// itself has none of them, so that a reply with one tells what it should not. What the
// attacker has to name, such as a database, is no mark.
//
//	CANTLE_SEED   draw the requests of this seed again
//	CANTLE_LONG   if set, the canaries as well
package authfuzz
