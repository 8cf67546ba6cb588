package daemon

// This file has what package doctor needs of the settings.

// KeepsFiles reports whether the store is in files in the folder Data.
func (c *Config) KeepsFiles() bool {
	e, err := c.engine()
	return err == nil && e.location == inFolder
}

// MemoryBytes returns the memory in bytes that a server started now would plan with.
func MemoryBytes() int64 { return memoryBytes() }
