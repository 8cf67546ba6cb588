package mql

// collator is filled in by collation parsing.
type collator struct{}

// CompareText orders two strings. See bson.StringOrder.
func (c *collator) CompareText(a, b []byte) int { return 0 }

// AppendKey appends a sort key. See bson.StringOrder.
func (c *collator) AppendKey(dst, s []byte) []byte { return append(dst, s...) }
