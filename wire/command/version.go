package command

// CompatibleVersion is the MongoDB version whose behaviour is offered; drivers
// and tools decide by it what they may ask for.
const CompatibleVersion = "7.0.0"

// EngineName is the storage engine that clients are told of.
const EngineName = "pebble"

// FeatureVersion is the feature compatibility version: CompatibleVersion without
// its last part.
const FeatureVersion = "7.0"
