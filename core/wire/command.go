package wire

import (
	"google.golang.org/protobuf/proto"

	"github.com/rowelhq/rowel/core"
)

// encoding makes equal values equal bytes: maps are written in key order.
var encoding = proto.MarshalOptions{Deterministic: true}

// EncodeCommand returns the bytes of a command for the log. It refuses, as Invalid,
// whatever DecodeCommand would not take back, so that nothing a proposer does can stop
// the replicas: text that is not UTF-8, a fraction of a second, a state without a name.
func EncodeCommand(command core.Command) ([]byte, error) {
	message, err := fromCommand(command)
	if err != nil {
		return nil, err
	}
	data, err := encoding.Marshal(message)
	if err != nil {
		return nil, core.Errorf(core.Invalid, "encode %T: %w", command, err)
	}
	return data, nil
}

func fromCommand(command core.Command) (*Command, error) {
	switch c := command.(type) {
	case core.SubmitJobs:
		m, err := fromSubmitJobs(c)
		return &Command{Kind: &Command_SubmitJobs{m}}, err
	case core.CancelJobs:
		return &Command{Kind: &Command_CancelJobs{fromCancelJobs(c)}}, nil
	case core.ApplyPlan:
		return &Command{Kind: &Command_ApplyPlan{fromApplyPlan(c)}}, nil
	case core.ReportJobs:
		m, err := fromReportJobs(c)
		return &Command{Kind: &Command_ReportJobs{m}}, err
	case core.RegisterNode:
		return &Command{Kind: &Command_RegisterNode{FromRegisterNode(c)}}, nil
	case core.DrainNode:
		return &Command{Kind: &Command_DrainNode{fromDrainNode(c)}}, nil
	case core.MarkNodes:
		return &Command{Kind: &Command_MarkNodes{fromMarkNodes(c)}}, nil
	case core.Forget:
		m, err := fromForget(c)
		return &Command{Kind: &Command_Forget{m}}, err
	case core.AnnounceMember:
		return &Command{Kind: &Command_AnnounceMember{&AnnounceMember{Member: FromMember(c.Member)}}}, nil
	}
	return nil, core.Errorf(core.Internal, "encode command: %T has no message", command)
}

// DecodeCommand returns the command in data. A command, or a field of one, that this
// version does not know gives an *UnknownFieldError; anything malformed gives an
// Invalid error. A state machine that meets either must stop: to skip what the others
// apply would make replicas differ.
func DecodeCommand(data []byte) (core.Command, error) {
	var message Command
	if err := proto.Unmarshal(data, &message); err != nil {
		return nil, core.Errorf(core.Invalid, "decode command: %w", err)
	}
	if err := RefuseUnknownFields(&message); err != nil {
		return nil, err
	}
	return toCommand(&message)
}

func toCommand(message *Command) (core.Command, error) {
	switch kind := message.GetKind().(type) {
	case *Command_SubmitJobs:
		return toSubmitJobs(kind.SubmitJobs)
	case *Command_CancelJobs:
		return toCancelJobs(kind.CancelJobs), nil
	case *Command_ApplyPlan:
		return toApplyPlan(kind.ApplyPlan), nil
	case *Command_ReportJobs:
		return toReportJobs(kind.ReportJobs)
	case *Command_RegisterNode:
		return ToRegisterNode(kind.RegisterNode), nil
	case *Command_DrainNode:
		return toDrainNode(kind.DrainNode), nil
	case *Command_MarkNodes:
		return toMarkNodes(kind.MarkNodes), nil
	case *Command_Forget:
		return toForget(kind.Forget)
	case *Command_AnnounceMember:
		return core.AnnounceMember{Member: ToMember(kind.AnnounceMember.GetMember())}, nil
	}
	return nil, &UnknownFieldError{Message: message.ProtoReflect().Descriptor().FullName()}
}
