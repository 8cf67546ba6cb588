package concern

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/storage"
)

// clusterDriftMax is the longest time by which the cluster time that a client sends may be ahead of the server's
// clock. Manual: reference/parameters (maxAcceptableLogicalClockDriftSecs).
const clusterDriftMax = 365 * 24 * time.Hour

// CheckClusterTime checks the field $clusterTime, in which drivers send the highest cluster time that they have
// seen. The server's own time does not follow it: the times are not signed here, and a time that a client invents
// must not change the timestamps of all commits. Spec: driver-sessions#gossipping-the-cluster-time. Errors:
// TypeMismatch (14), IDLFailedToParse (40414), ClusterTimeFailsRateLimiter (205).
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

// AheadOf returns the error of a read whose read concern requires a time later than the latest commit. name is the
// field of the read concern.
func AheadOf(name string, want, latest storage.Timestamp) error {
	// Such a time comes from another deployment, so waiting for it would not help.
	return mongoerr.New(mongoerr.InvalidOptions, "readConcern %s value must not be greater than the current clusterTime. "+
		"Requested clusterTime: %s; current clusterTime: %s", name, want, latest)
}
