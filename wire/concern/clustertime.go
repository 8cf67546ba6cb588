package concern

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
)

// clusterDriftMax is how far a client's cluster time may be ahead of the clock.
// Manual: reference/parameters (maxAcceptableLogicalClockDriftSecs).
const clusterDriftMax = 365 * 24 * time.Hour

// CheckClusterTime looks at the $clusterTime that drivers pass on. The server's own
// time does not follow it: times are signed by nobody here, and one that a client
// has made up must not move what everybody's commits are called.
// Spec: driver-sessions#gossipping-the-cluster-time.
// Errors: TypeMismatch (14), IDLFailedToParse (40414), ClusterTimeFailsRateLimiter (205).
func CheckClusterTime(v bson.Value, now time.Time) error {
	if v.IsNullish() {
		return nil
	}
	d, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		return mongoerr.WrongType("$clusterTime", v.Type.String(), "object")
	}
	at := d.Get("clusterTime")
	if at.IsNullish() {
		return mongoerr.MissingField("$clusterTime.clusterTime")
	}
	seconds, _, ok := at.Timestamp()
	if !ok {
		return mongoerr.WrongType("$clusterTime.clusterTime", at.Type.String(), "timestamp")
	}
	if s := d.Get("signature"); !s.IsNullish() && s.Type != bson.TypeDocument {
		return mongoerr.WrongType("$clusterTime.signature", s.Type.String(), "object")
	}
	if int64(seconds) > now.Add(clusterDriftMax).Unix() {
		return mongoerr.New(mongoerr.ClusterTimeFailsRateLimiter, "New cluster time, %d, is too far from this node's wall clock time, %d.", seconds, now.Unix())
	}
	return nil
}

// AheadOf is the error of a read that wants to see a time which has not come.
func AheadOf(name string, want, latest storage.Timestamp) error {
	// The time of another deployment: there is nothing to wait for.
	return mongoerr.New(mongoerr.InvalidOptions, "readConcern %s value must not be greater than the current clusterTime. "+
		"Requested clusterTime: %s; current clusterTime: %s", name, want, latest)
}
