package agg

import (
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/project"
)

// docBytesMax is the size of the largest document between stages.
const docBytesMax = project.DocBytesMax

// userDocBytesMax is the size in bytes of the largest document that leaves a pipeline: 16 MiB.
const userDocBytesMax = 16 << 20

func tooLarge(size int) error { return mongoerr.DocumentTooLarge(size, docBytesMax) }
