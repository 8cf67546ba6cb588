package command

import "sync"

// parameters are the settings of the server that change while it runs.
type parameters struct {
	mu sync.RWMutex
}

func (p *parameters) init() {}
