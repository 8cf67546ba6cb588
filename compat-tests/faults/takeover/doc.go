// Package takeover is the drill of a machine that burns down: a primary is killed and its folder deleted while clients write,
// and its follower becomes the primary, by a command or by itself. It measures the seconds of writes that are lost and the
// seconds without acknowledged writes.
//
//	CANTLE_LONG   if set, the canary as well; nightly: 24 machines instead of one (package programme)
package takeover
