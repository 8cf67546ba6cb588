//go:build !unix

package daemon

import "math"

// addressBytes returns no limit: there is no ulimit -v here.
func addressBytes() int64 { return math.MaxInt64 }
