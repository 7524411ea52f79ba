package api

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/rowelhq/rowel/core"
)

// kindHeader carries the kind of an error beside its status code: several kinds share
// a code, and a client must tell "not done" from "maybe done".
const kindHeader = "Rowel-Error-Kind"

var codes = map[core.Kind]connect.Code{
	core.Internal:    connect.CodeInternal,
	core.Invalid:     connect.CodeInvalidArgument,
	core.NotFound:    connect.CodeNotFound,
	core.Conflict:    connect.CodeFailedPrecondition,
	core.NotLeader:   connect.CodeUnavailable,
	core.Unavailable: connect.CodeUnavailable,
	core.Unknown:     connect.CodeAborted,
	core.Denied:      connect.CodePermissionDenied,
	core.Exhausted:   connect.CodeResourceExhausted,
}

// toWire turns an error into the status that a client gets.
func toWire(err error) error {
	if err == nil {
		return nil
	}
	if already := (*connect.Error)(nil); errors.As(err, &already) {
		return err
	}
	kind := core.KindOf(err)
	if kind == core.Internal && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		// The server ends every request when it stops, wherever that has got to.
		kind = core.Unknown
	}
	status := connect.NewError(codes[kind], errors.New(err.Error()))
	status.Meta().Set(kindHeader, kind.String())
	return status
}

// fromWire turns a status back into an error with its kind and its sentence.
func fromWire(err error) error {
	var status *connect.Error
	if !errors.As(err, &status) {
		return err
	}
	kind := kindOfStatus(status)
	if kind == core.Internal && status.Message() == "" {
		return core.Errorf(kind, "the controller answered %s", status.Code())
	}
	return core.Errorf(kind, "%s", status.Message())
}

func kindOfStatus(status *connect.Error) core.Kind {
	name := status.Meta().Get(kindHeader)
	for kind := range codes {
		if kind.String() == name {
			return kind
		}
	}
	switch status.Code() {
	case connect.CodeInvalidArgument, connect.CodeOutOfRange, connect.CodeUnimplemented:
		return core.Invalid
	case connect.CodeNotFound:
		return core.NotFound
	case connect.CodeFailedPrecondition, connect.CodeAlreadyExists:
		return core.Conflict
	case connect.CodeUnavailable:
		return core.Unavailable
	case connect.CodeAborted, connect.CodeDeadlineExceeded, connect.CodeCanceled, connect.CodeUnknown:
		return core.Unknown
	case connect.CodePermissionDenied, connect.CodeUnauthenticated:
		return core.Denied
	case connect.CodeResourceExhausted:
		return core.Exhausted
	case connect.CodeInternal, connect.CodeDataLoss:
		return core.Internal
	}
	return core.Internal
}
