package bson

import driver "go.mongodb.org/mongo-driver/v2/bson"

// NewObjectID makes a fresh ObjectId: seconds, process-unique bytes, counter.
func NewObjectID() [12]byte { return driver.NewObjectID() }
