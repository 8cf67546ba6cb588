package storage

import "context"

// Each calls visit with the key and value of each entry in a range, in key order, until visit returns an error.
// Keys and values are valid until visit returns. Errors: errors of visit and of the reader.
func Each(ctx context.Context, r Reader, within Range, visit func(key, value []byte) error) error {
	it, err := r.Iter(ctx, within, IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		if err := visit(it.Key(), it.Value()); err != nil {
			return err
		}
	}
	return it.Err()
}
