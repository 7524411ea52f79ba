package wire

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rowelhq/rowel/core"
)

// FromTime returns the timestamp of t, or nil for the zero time.
func FromTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// ToTime returns the time in UTC, the zero time if ts is not set, and an Invalid error
// if it is outside the years 1 to 9999.
func ToTime(ts *timestamppb.Timestamp) (time.Time, error) {
	if ts == nil {
		return time.Time{}, nil
	}
	if err := ts.CheckValid(); err != nil {
		return time.Time{}, core.Errorf(core.Invalid, "time out of range: %w", err)
	}
	return ts.AsTime(), nil
}
