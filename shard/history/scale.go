package history

import "math"

// Metric is one of the numbers of a partition in every column.
type Metric uint8

// The metrics. All are averages per second over the time of the column, except Latency, which is
// that of a request in milliseconds.
const (
	RU      Metric = iota
	Reads          // requests that read, and succeeded
	Writes         // documents written
	Refused        // requests refused for lack of request units
	Failed         // requests that failed otherwise
	KiB            // kibibytes of documents read, returned or stored
	Latency
	RefusedLeast // RU that the refused requests would have cost at least: each request once, however often it came
	RefusedMost  // RU that they would have cost at most: each time that it came is a request
	Retried      // RU of requests that ran after a refusal, and are part of RefusedLeast
	metricCount
)

// metricNames holds the printed name of each metric.
var metricNames = [metricCount]string{"ru", "reads", "writes", "refused", "failed", "kib", "latency", "refusedleast", "refusedmost", "retried"}

// String returns the name of the metric.
func (m Metric) String() string { return metricNames[m] }

// MetricNamed finds a metric by its name.
func MetricNamed(name string) (m Metric, ok bool) {
	for i, n := range metricNames {
		if n == name {
			return Metric(i), true
		}
	}
	return 0, false
}

// The scale: 0 is nothing, 1 is ScaleLeast, and every step is ScaleStep times the one
// before, so that 255 is ten million. A value between these is off by at most 4.7 percent.
const (
	ScaleLeast = 0.001
	ScaleStep  = 1.0949
)

// logStep is the logarithm of ScaleStep.
var logStep = math.Log(ScaleStep)

// Scale converts a value to the scale. A value above 0 never becomes 0.
func Scale(v float64) byte {
	if v <= 0 {
		return 0
	}
	return byte(max(1, min(255, 1+math.Round(math.Log(v/ScaleLeast)/logStep))))
}

// Value converts a byte of the scale to the value.
func Value(b byte) float64 {
	if b == 0 {
		return 0
	}
	return ScaleLeast * math.Pow(ScaleStep, float64(b)-1)
}
