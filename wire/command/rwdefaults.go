package command

import "sync"

// rwDefaults are the cluster's default read and write concerns.
type rwDefaults struct {
	mu sync.Mutex
}
