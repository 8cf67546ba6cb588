// Package authfuzz searches for gaps between the parts of a command that authorization reads and those that
// the command runs. Users without a role, or with one narrow role each, send every command, stage and
// argument, mutated, to a server in which all data of others are marked.
//
//	world_test.go       the server: databases, users, sessions and operations full of marks
//	users_test.go       the senders: what each may see and change
//	commands_test.go    a valid request for every command; stages_test.go, for every stage
//	cases_test.go       requests of compat-tests/behaviour/cases and collection/agg/testdata, aimed anew
//	draw_test.go        names for the places that name something: the user's own, or others'
//	mutate_test.go      fields that come twice, null first, other numbers, other types, other order, ...
//	state_test.go       all state that a request can change
//	judge_test.go       a mark in a reply, a count, a password in a log, a change outside
//	shrink_test.go      the smallest request that still shows it
//
// Marks are random words, new for each server, and no request contains one: so a reply with a mark reveals
// data that its user must not see. Names that an attacker must be able to send, such as that of a database,
// are not marks.
//
//	CANTLE_SEED   draw the requests of this seed again
//	CANTLE_LONG   if set, the canaries as well
package authfuzz
