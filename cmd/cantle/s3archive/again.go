package s3archive

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"
)

// pauseMax is the longest time between two attempts of again.
const pauseMax = time.Second

// again repeats a request whose response was cut off after its beginning, which the library does not repeat.
func again(ctx context.Context, request func() error) error {
	for try := 1; ; try++ {
		err := request()
		if !errors.Is(err, io.ErrUnexpectedEOF) || try == triesMax {
			return err
		}
		select {
		case <-time.After(rand.N(pauseMax)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
